//! Tests with moto from PyPI, an S3 server that checks signatures and supports conditional writes.
//! `make s3-test` downloads the server and runs these tests.
#![cfg(feature = "s3")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;

use backend::cache::bucket::{BucketUrl, EnvVars};
use backend::{BlobStore, CellCache};
use sys::secret_key::{KEY_LENGTH, SecretKey};

/// Starts the server, over TLS with a new certificate authority if the argument is `tls`, creates a
/// bucket and a user, and prints the address and credentials. Exits when its standard input closes.
const SERVER: &str = r#"
import json, os, subprocess, sys, tempfile, threading
os.environ.update(AWS_ACCESS_KEY_ID='root', AWS_SECRET_ACCESS_KEY='root', AWS_DEFAULT_REGION='us-east-1')
# What comes after these requests is let in only with a valid signature.
os.environ['INITIAL_NO_AUTH_ACTION_COUNT'] = '4'
import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
place = tempfile.TemporaryDirectory()
ca, key, cert = (os.path.join(place.name, name) for name in ('ca.pem', 'key.pem', 'cert.pem'))
tls = sys.argv[1:] == ['tls']
if tls:
    def openssl(*words): subprocess.run(('openssl',) + words, check=True, capture_output=True)
    def new(name): return ('-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=' + name)
    openssl('req', '-x509', *new('authority'), '-keyout', ca + '.key', '-out', ca)
    openssl('req', *new('localhost'), '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert + '.csr')
    openssl('x509', '-req', '-in', cert + '.csr', '-CA', ca, '-CAkey', ca + '.key', '-copy_extensions', 'copy', '-out', cert)
app = DomainDispatcherApplication(create_backend_app)
server = make_server('127.0.0.1', 0, app, True, ssl_context=(cert, key) if tls else None)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = '%s://localhost:%d' % ('https' if tls else 'http', server.server_address[1])
check = {'verify': ca} if tls else {}
boto3.client('s3', endpoint_url=url, **check).create_bucket(Bucket='cells')
iam = boto3.client('iam', endpoint_url=url, **check)
iam.create_user(UserName='it')
key = iam.create_access_key(UserName='it')['AccessKey']
may = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': 's3:*', 'Resource': '*'}]}
iam.put_user_policy(UserName='it', PolicyName='it', PolicyDocument=json.dumps(may))
print(url, key['AccessKeyId'], key['SecretAccessKey'], ca, flush=True)
sys.stdin.read()
place.cleanup()
os._exit(0)
"#;

struct Server {
    child: Child,
    /// Address and credentials.
    access: [String; 3],
    /// Certificate of the authority, if the server uses TLS.
    authority: String,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let python = std::env::var("FSARENA_S3_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut child = Command::new(python)
            .args(["-c", SERVER])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let words: [String; 4] = words
            .try_into()
            .expect("the server prints its address; install it with `make s3-test`");
        let [url, id, secret, authority] = words;
        Self { child, access: [url, id, secret], authority }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn bucket([url, id, secret]: [&str; 3], name: &str) -> Arc<dyn BlobStore> {
    let address = BucketUrl::parse(&format!("s3://{name}/fs/arena"));
    let shelf =
        backend::cache::bucket::open(&address.unwrap().unwrap(), &environment(url, id, secret));
    shelf.unwrap()
}

fn environment(url: &str, id: &str, secret: &str) -> EnvVars {
    let named = [
        ("AWS_ENDPOINT_URL", url),
        ("AWS_ACCESS_KEY_ID", id),
        ("AWS_SECRET_ACCESS_KEY", secret),
        ("AWS_REGION", "us-east-1"),
    ];
    named.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[test]
fn a_bucket_is_a_blob_store_and_reports_errors_in_one_line() {
    let server = Server::start(&[]);
    let [url, id, secret] = server.access.each_ref().map(String::as_str);
    let shelf = bucket([url, id, secret], "cells");

    assert_eq!(shelf.read("a").unwrap(), None);
    shelf.remove("a").unwrap();
    assert!(shelf.create("a", "one").unwrap());
    assert!(!shelf.create("a", "two").unwrap());
    assert!(!shelf.compare_and_swap("a", "two", "three").unwrap());
    assert!(shelf.compare_and_swap("a", "one", "three").unwrap());
    assert!(!shelf.compare_and_swap("none", "one", "three").unwrap());
    assert_eq!(shelf.read("a").unwrap().as_deref(), Some("three"));
    shelf.put("a", "four").unwrap();
    shelf.remove("a").unwrap();
    assert_eq!(shelf.read("a").unwrap(), None);

    // If several create an entry at the same time, exactly one succeeds.
    let together = Barrier::new(4);
    let won = thread::scope(|scope| {
        let one = |number: usize| {
            let (shelf, together) = (&shelf, &together);
            scope.spawn(move || {
                together.wait();
                shelf.create("claim", &number.to_string()).unwrap()
            })
        };
        let all: Vec<_> = (0..4).map(one).collect();
        all.into_iter().filter_map(|one| one.join().unwrap().then_some(())).count()
    });
    assert_eq!(won, 1);

    CellCache::shared(Arc::clone(&shelf), SecretKey::new([7; KEY_LENGTH])).unwrap();
    let refused = |shelf, key| {
        CellCache::shared(shelf, SecretKey::new([key; KEY_LENGTH])).unwrap_err().to_string()
    };
    assert_eq!(
        refused(shelf, 8),
        "s3://cells/fs/arena is kept with another key: name that (--cache-key), or another cache (--cache)"
    );
    for (shelf, why) in [
        (bucket([url, id, "wrong"], "cells"), "SignatureDoesNotMatch"),
        (bucket([url, "nobody", secret], "cells"), "InvalidAccessKeyId"),
        (bucket([url, id, secret], "none"), "NoSuchBucket"),
        (bucket(["http://localhost:1", id, secret], "cells"), "refused"),
    ] {
        let said = refused(shelf, 7);
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    }
    let address = BucketUrl::parse("s3://cells").unwrap().unwrap();
    for (url, id, why) in
        [("http://store.example", id, "https://"), (url, "", "AWS_ACCESS_KEY_ID is not set")]
    {
        let said = backend::cache::bucket::open(&address, &environment(url, id, secret));
        let said = said.unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}

/// Environment variable that makes [`accepts_a_certificate_only_of_a_known_authority`] run as its
/// own child process, because `SSL_CERT_FILE` applies to a whole process.
const AGAIN: &str = "FSARENA_S3_ACCESS";

#[test]
fn accepts_a_certificate_only_of_a_known_authority() {
    if let Ok(access) = std::env::var(AGAIN) {
        let words: Vec<&str> = access.split_whitespace().collect();
        let [url, id, secret] = words[..] else { panic!("{access}") };
        let tried = bucket([url, id, secret], "cells").create("a", "one");
        println!("it says {tried:?}.");
        return;
    }
    let server = Server::start(&["tls"]);
    let access = server.access.join(" ");
    let says = |authority: Option<&str>| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "--nocapture"]);
        again.arg("accepts_a_certificate_only_of_a_known_authority");
        again.env(AGAIN, &access).env_remove("SSL_CERT_FILE");
        again.envs(authority.map(|file| ("SSL_CERT_FILE", file)));
        String::from_utf8(again.output().unwrap().stdout).unwrap()
    };
    let unknown = says(None);
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let known = says(Some(&server.authority));
    assert!(known.contains("it says Ok(true)."), "{known}");
}
