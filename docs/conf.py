# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the documentation; `bash tools/make_docs.sh` builds it."""

import loomix

project = "Loomix"
author = "The Loomix developers"
version = release = loomix.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]  # the table of contents for who reads the files themselves
html_theme = "furo"
html_title = f"Loomix {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["width.css"]

myst_heading_anchors = 4  # so that links to headings of other pages are checked
myst_enable_extensions = ["fieldlist"]
# The design pages have code in other files' formats and unusual headings; their text stays as it is.
# ref.python: some classes have several public names, as in MXNet, and types in doc strings are short names.
suppress_warnings = ["myst.header", "ref.python"]

autodoc_default_options = {"show-inheritance": True}  # with members it would take all where some are listed
autodoc_member_order = "bysource"
toc_object_entries = False  # the pages of large modules would spend most of the time on their side bars
autodoc_typehints = "none"  # types stand in the sections on parameters
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False


def list_members(app, what, name, obj, options, lines):
    """Puts links to all that a module has under its own text, so that a page can be looked over."""
    if what == "module":
        chosen = options.members if isinstance(options.members, list) else getattr(obj, "__all__", [])
        left_out = options.get("exclude-members") or ()
        names = [
            member for member in chosen if callable(getattr(obj, member, None)) and member not in left_out
        ]
        lines += ["", " · ".join(f":py:obj:`{member} <{name}.{member}>`" for member in names), ""]


def leave_out(app, what, name, obj, skip, options):
    """Operators have pages of their own; what modules only pass on, for star imports, is no part of them."""
    passed_on = (
        not (getattr(obj, "__module__", None) or "loomix").startswith("loomix") or name == "classproperty"
    )
    return True if type(obj).__name__ == "OpFunction" or (what == "module" and passed_on) else None


def setup(app):
    app.connect("autodoc-process-docstring", list_members)
    app.connect("autodoc-skip-member", leave_out)
