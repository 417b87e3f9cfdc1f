#!/usr/bin/env bash
# Installs what some tests need and would otherwise skip: LaTeX (every table is typeset), pdftotext
# (the document's text is read back), a browser (the report is opened in it) and SLURM (a campaign
# runs on it). Only for root on Debian or Ubuntu; without a network it says so and the tests skip, so
# it never fails.
set -u
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive

# install PROGRAM PACKAGE...: the packages, where the program is missing.
install() {
    command -v "$1" > /dev/null && return
    local program=$1
    shift
    # The lists of packages are fetched once.
    if [ -z "${updated:-}" ]; then
        timeout 300 apt-get -qq update > /dev/null 2>&1
        updated=1
    fi
    echo "installing $*"
    timeout 900 apt-get -qq install -y --no-install-recommends "$@" > /dev/null 2>&1 ||
        echo "could not install $*: the tests that need $program are skipped"
}

install latexmk latexmk texlive-latex-base texlive-latex-recommended
install pdftotext poppler-utils
install chromium chromium
install slurmctld slurm-wlm munge
exit 0
