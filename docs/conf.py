"""Settings of the documentation site. ``make docs`` builds it into build/docs."""

import sys
from pathlib import Path

import isotopic

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "isotopic"
author = "The isotopic developers"
copyright = "The isotopic developers"
release = version = isotopic.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "home_example",
    "public_names",
    "site_links",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # pages need no network
]
exclude_patterns = ["_build", "tutorials/*", "gallery/*", "_extensions/*", "auto/names.rst"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Markdown: links to headings work as on GitHub.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

# The reference. Types are in the text of the docstrings, in words.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Tutorials and plots are run by the build. One that fails, or warns, fails the build.
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials", "gallery"],
    "gallery_dirs": ["auto/tutorials", "auto/gallery"],
    "filename_pattern": r"\.py",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "auto/backreferences",
    "doc_module": ("isotopic",),
    "reference_url": {"isotopic": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
}

nitpicky = True
# No inventory of another project is fetched: a build needs no network.
nitpick_ignore_regex = [("py:.*", r"(numpy|np|scipy|sklearn|pandas|anndata|dask|matplotlib)\b.*")]

html_theme = "pydata_sphinx_theme"
html_title = "isotopic"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_favicon = html_logo = "_static/logo.svg"
html_theme_options = {
    "logo": {"text": "isotopic"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "search_as_you_type": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False
