"""What somebody has to do in the cloud before an account can be used: documents and commands, filled in.

The permissions are those of infra/aws/policy.json and infra/gcp/role.yaml; tests compare both with what is called.
"""

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from backend.cloud_accounts.models import CloudAccount

_INFRA = Path(__file__).resolve().parents[2] / "infra"
_NOT_FOR_THEM = "AccountsThatAreBrought"
"""The statement of the policy that lets the control plane itself take on other accounts' roles."""

UNKNOWN_PRINCIPAL = "ASK-THE-TEAM-THAT-RUNS-RINGMASTER"


def setup_of(account: CloudAccount) -> list[dict[str, Any]]:
    return _aws(account) if account.provider == "aws" else _gcp(account)


def _step(title: str, text: str, content: str, *, file: str | None = None, language: str = "bash") -> dict[str, Any]:
    return {"title": title, "text": text, "file_name": file, "language": language, "content": content}


def _aws(account: CloudAccount) -> list[dict[str, Any]]:
    principal = settings.ENV.ringmaster_aws_principal or UNKNOWN_PRINCIPAL
    role = account.role_arn.rpartition("/")[2]
    policy = json.loads((_INFRA / "aws" / "policy.json").read_text())
    policy["Statement"] = [one for one in policy["Statement"] if one["Sid"] != _NOT_FOR_THEM]
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": principal},
                "Action": "sts:AssumeRole",
                "Condition": {"StringEquals": {"sts:ExternalId": account.external_id}},
            }
        ],
    }
    machines = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
    return [
        _step(
            "Whom the role trusts",
            "The control plane, and only with this account's external id. Keep the condition: without it the check "
            "refuses the account.",
            json.dumps(trust, indent=2),
            file="trust.json",
            language="json",
        ),
        _step(
            "What the role may do",
            "Make networks and machines, and change or delete machines that Ringmaster has tagged.",
            json.dumps(policy, indent=2),
            file="policy.json",
            language="json",
        ),
        _step(
            "The role of the machines",
            "Machines carry a role that allows nothing.",
            json.dumps(machines, indent=2),
            file="machines-trust.json",
            language="json",
        ),
        _step(
            "Make the roles",
            "Run this where the three files are, in the AWS account that the clusters are to be in.",
            "\n".join(
                [
                    f"aws iam create-role --role-name {role} --assume-role-policy-document file://trust.json",
                    f"aws iam put-role-policy --role-name {role} --policy-name ringmaster "
                    "--policy-document file://policy.json",
                    "aws iam create-role --role-name ringmaster-node "
                    "--assume-role-policy-document file://machines-trust.json",
                    "aws iam create-instance-profile --instance-profile-name ringmaster-node",
                    "aws iam add-role-to-instance-profile --instance-profile-name ringmaster-node "
                    "--role-name ringmaster-node",
                ]
            ),
        ),
    ]


def _gcp(account: CloudAccount) -> list[dict[str, Any]]:
    principal = settings.ENV.ringmaster_gcp_principal or UNKNOWN_PRINCIPAL
    project, email = account.project, account.service_account
    return [
        _step(
            "What the service account may do",
            "Make, change and delete networks and machines in the project.",
            (_INFRA / "gcp" / "role.yaml").read_text(),
            file="role.yaml",
            language="yaml",
        ),
        _step(
            "Make the service account",
            "Run this where the file is. The service account must have this very name: it is made for this account "
            "alone, so that nobody else can register it.",
            "\n".join(
                [
                    "gcloud services enable compute.googleapis.com cloudresourcemanager.googleapis.com "
                    f"--project {project}",
                    f"gcloud iam roles create ringmaster --project {project} --file role.yaml",
                    f"gcloud iam service-accounts create {email.partition('@')[0]} --project {project}",
                    f"gcloud projects add-iam-policy-binding {project} --member serviceAccount:{email} "
                    f"--role projects/{project}/roles/ringmaster",
                    f"gcloud iam service-accounts add-iam-policy-binding {email} --project {project} "
                    f"--member serviceAccount:{principal} --role roles/iam.serviceAccountTokenCreator",
                ]
            ),
        ),
    ]
