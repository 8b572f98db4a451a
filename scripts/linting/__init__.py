# SPDX-License-Identifier: Apache-2.0
"""The rules behind scripts/lint, one module a kind."""
