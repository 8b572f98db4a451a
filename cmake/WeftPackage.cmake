# SPDX-License-Identifier: Apache-2.0
# `cpack` makes a tarball and a .deb of what is installed. LibTorch is not in them: docs/installing.md says where Weft looks for it.
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR "The Weft authors")
set(CPACK_PACKAGE_CONTACT "The Weft authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transformers on long sequences, whose attention is a graph")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# By hand: dpkg-shlibdeps would ask for a package of LibTorch, and there is none.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1, libgomp1, libcairo2, libpng16-16, zlib1g")
# Opened when a model is downloaded by name, and when texts are searched.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, libcurl4, libsqlite3-0")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, man-db")
include(CPack)
