"""Writes the template of CloudFormation that SAM makes of a template."""

import json
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

with open(sys.argv[1], encoding="utf-8") as file:
    template = yaml_parse(file.read())
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":  # sam package puts the archive there
        resource["Properties"]["CodeUri"] = "s3://bucket/key"
template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
json.dump(Translator({}, Parser()).translate(template, {}), sys.stdout, indent=1)
