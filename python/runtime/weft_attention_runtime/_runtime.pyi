# SPDX-License-Identifier: Apache-2.0
# The compiled module over libweft. Arrays come in as NumPy's or PyTorch's, and go out as objects that both read:
# numpy.asarray(x), torch.from_dlpack(x).

version: str
torch: str  # the version of PyTorch that it was compiled with
