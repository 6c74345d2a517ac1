"""What the papers prove, as functions of plain numbers and tensors, and estimators of the constants they assume."""
