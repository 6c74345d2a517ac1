"""What can be found out about a spec without learning, as plain data.

``STUDIES[name](spec, tell)`` plans with the very parts of the spec, so that its numbers are those of a run of the same
seed; ``tell`` hears the share that is done.
"""

from fedradio.papers.studies import air, data, energy, network
from fedradio.papers.studies.planned import Study

__all__ = ["STUDIES"]

STUDIES: dict[str, Study] = {
    "energy": energy.energy,
    "client_energy": energy.client_energy,
    "eligibility": network.eligibility,
    "stragglers": network.stragglers,
    "network": network.network,
    "payload": network.payload,
    "sample_bits": data.sample_bits,
    "reference": data.reference,
    "labels": data.labels,
    "bound": air.bound,
}
"""Every study by its name."""
