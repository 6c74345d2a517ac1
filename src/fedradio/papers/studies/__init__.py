"""Studies: what can be computed from a spec without learning, as plain data.

``STUDIES[name](spec, progress)`` plans with the parts of the spec, so that its numbers are those of a run of the same
seed; ``progress`` is called with the share that is done.
"""

from fedradio.papers.studies import air, data, energy, network, remarks
from fedradio.papers.studies.planned import Study

__all__ = ["SAME_PLAN", "STUDIES"]

STUDIES: dict[str, Study] = {
    "energy": energy.energy,
    "energy_optional": energy.energy_optional,
    "client_energy": energy.client_energy,
    "eligibility": network.eligibility,
    "stragglers": network.stragglers,
    "network": network.network,
    "payload": network.payload,
    "sample_bits": data.sample_bits,
    "reference": data.reference,
    "labels": data.labels,
    "bound": air.bound,
    "remarks": remarks.remarks,
}
"""Every study by its name."""

SAME_PLAN = ("energy", "client_energy", "eligibility")
"""Studies of the same planned edge rounds: where one is made, the others cost next to nothing."""
