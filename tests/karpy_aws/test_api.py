"""The calls over the real SDK: against a server of a few lines on this machine, never against AWS."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import attrs
import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from karpy_aws.api import SERVICES, APIs, Connection, Request, Response, connect, items, pages
from karpy_aws.errors import AWSError, ErrorClass

SUBNETS = "<DescribeSubnetsResponse><subnetSet>{}</subnetSet>{}</DescribeSubnetsResponse>"
SUBNET = "<item><subnetId>{}</subnetId></item>"
REFUSAL = (
    "<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error></Errors><RequestID>1</RequestID></Response>"
)


@attrs.define
class Answers:
    """What the server says, in order; the last is said again and again. And what it was asked."""

    url: str = ""
    queued: list[tuple[int, str]] = attrs.field(factory=list)
    asked: list[dict[str, list[str]]] = attrs.field(factory=list)


@pytest.fixture
def answers() -> Iterator[Answers]:
    said = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said.asked.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            status, body = said.queued.pop(0) if len(said.queued) > 1 else said.queued[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            """Tests keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        said.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield said
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def over(url: str, **fields: object) -> APIs:
    known = Connection(
        region="us-west-2", endpoint_urls={"": url}, connect_timeout_s=2, read_timeout_s=5, max_attempts=1
    )
    return connect(attrs.evolve(known, **fields))


@pytest.mark.parametrize("service", SERVICES)
def test_every_call_is_one_of_the_service(service: str) -> None:
    model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
    for name in vars(SERVICES[service]):
        if not name.startswith("_"):
            assert "".join(word.capitalize() for word in name.split("_")) in model.operation_names


def test_requests_and_answers_are_dicts_in_the_sdks_shape(answers: Answers) -> None:
    answers.queued = [(200, SUBNETS.format(SUBNET.format("subnet-1"), ""))]
    answer = over(answers.url).ec2.describe_subnets({"SubnetIds": ["subnet-1"]})
    assert answer == {"Subnets": [{"SubnetId": "subnet-1"}]}
    assert answers.asked[0]["SubnetId.1"] == ["subnet-1"]


def test_pages_are_followed_to_the_last(answers: Answers) -> None:
    first = SUBNETS.format(SUBNET.format("subnet-1"), "<nextToken>2</nextToken>")
    answers.queued = [(200, first), (200, SUBNETS.format(SUBNET.format("subnet-2"), ""))]
    found = list(items(over(answers.url).ec2.describe_subnets, {"MaxResults": 5}, "Subnets"))
    assert [subnet["SubnetId"] for subnet in found] == ["subnet-1", "subnet-2"]
    assert [asked.get("NextToken") for asked in answers.asked] == [None, ["2"]]
    assert [asked["MaxResults"] for asked in answers.asked] == [["5"], ["5"]]


def test_markers_are_followed_too() -> None:
    def listing(request: Request) -> Response:
        more = "Marker" not in request
        return {"InstanceProfiles": [len(request)], "IsTruncated": more, **({"Marker": "2"} if more else {})}

    assert list(items(listing, {"PathPrefix": "/karpenter/"}, "InstanceProfiles")) == [1, 2]


def test_a_service_that_pages_for_ever_is_left() -> None:
    with pytest.raises(AWSError, match="the same page comes again and again"):
        list(pages(lambda _request: {"NextToken": "1"}, {}))


def test_only_what_karpy_asks_for_can_be_called(answers: Answers) -> None:
    with pytest.raises(AttributeError, match="delete_vpc of ec2"):
        _ = over(answers.url).ec2.delete_vpc  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("UnauthorizedOperation", 403, ErrorClass.UNAUTHORIZED),
        ("ExpiredToken", 400, ErrorClass.CREDENTIALS),
        ("AuthFailure", 401, ErrorClass.CREDENTIALS),
        ("InternalError", 500, ErrorClass.SERVER),
        ("RequestLimitExceeded", 503, ErrorClass.THROTTLED),
    ],
)
def test_a_refusal_names_call_and_resource(answers: Answers, code: str, status: int, kind: ErrorClass) -> None:
    told = "AWS was not able to validate the provided access credentials"
    answers.queued = [(status, REFUSAL.format(code, told))]
    with pytest.raises(AWSError, match=f"ec2:TerminateInstances of i-1: {code}: {told}") as caught:
        over(answers.url).ec2.terminate_instances({"InstanceIds": ["i-1"]})
    assert caught.value.has(kind)
    assert caught.value.status == status


def test_what_fails_for_a_moment_is_tried_again(answers: Answers) -> None:
    answers.queued = [(500, REFUSAL.format("InternalError", "oops")), (200, SUBNETS.format("", ""))]
    assert over(answers.url, max_attempts=2).ec2.describe_subnets({}) == {"Subnets": []}


def test_an_answer_that_is_none_is_an_error_of_the_call(answers: Answers) -> None:
    answers.queued = [(200, "<html>a proxy's login page")]
    with pytest.raises(AWSError, match="ec2:DescribeSubnets: UnreadableAnswer"):
        over(answers.url).ec2.describe_subnets({})


def test_a_wrong_parameter_is_refused_before_it_is_sent(answers: Answers) -> None:
    with pytest.raises(AWSError, match=r"(?s)ec2:DescribeSubnets: InvalidRequest: .*SubnetId") as caught:
        over(answers.url).ec2.describe_subnets({"SubnetId": "subnet-1"})
    assert not caught.value.retryable
    assert not answers.asked


def test_missing_credentials_say_where_they_come_from(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(AWSError, match=r"sqs:GetQueueUrl of q: CredentialsMissing: .*IRSA, EKS Pod Identity"):
        over(answers.url).sqs.get_queue_url({"QueueName": "q"})


def test_a_missing_region_says_how_to_set_it() -> None:
    with pytest.raises(AWSError, match=r"connecting to AWS: RegionMissing: .*AWS_REGION"):
        connect(Connection())


def test_a_missing_profile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "absent")
    with pytest.raises(AWSError, match=r"connecting to AWS: CredentialsMissing: .*\(absent\)"):
        connect(Connection(region="us-west-2"))


def test_an_endpoint_where_nobody_listens_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(AWSError, match=f"ec2:DescribeSubnets: EndpointUnreachable: .*{url}.*is the region right"):
            over(url).ec2.describe_subnets({})


def test_an_endpoint_that_swallows_calls_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AWSError, match=r"ec2:DescribeSubnets: TimedOut: .*VPC endpoint") as caught:
            over(url, read_timeout_s=0.1).ec2.describe_subnets({})
        assert caught.value.retryable


def test_a_url_that_is_none_is_told() -> None:
    with pytest.raises(AWSError, match=r"ec2:DescribeSubnets: EndpointUnreachable: .*no-url"):
        over("no-url").ec2.describe_subnets({})


@pytest.mark.parametrize(
    ("region", "asked"),
    [
        ("us-west-2", "us-east-1"),
        ("ap-northeast-2", "ap-south-1"),
        ("cn-north-1", "cn-northwest-1"),
        ("eu-west-1", "eu-central-1"),
    ],
)
def test_prices_are_asked_of_the_nearest_region_that_tells_them(region: str, asked: str) -> None:
    from karpy_aws.api import _region_for

    assert _region_for("pricing", region) == asked
    assert _region_for("ec2", region) == region
