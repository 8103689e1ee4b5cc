// A real OpenID Connect provider on loopback, for tests: `node provider.mjs CLIENT_ID CLIENT_SECRET PEOPLE`.
// PEOPLE is a JSON file, read at each question: {"jane": {"email": …, "email_verified": …, "groups": […]}}. Whoever is
// in it signs in with any password. It prints its address, and ends when its input does.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [clientId, clientSecret, people] = process.argv.slice(2);
const SCOPES = "openid email profile";

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: ["http://testserver/_oidc/x/callback"] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  findAccount(_, id) {
    const claims = JSON.parse(readFileSync(people, "utf8"))[id];
    return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) };
  },
  // Nobody is asked whether the console may know who they are.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope(SCOPES);
    await grant.save();
    return grant;
  },
});
// Its address there is known only when the control plane knows this one.
provider.Client.prototype.redirectUriAllowed = (uri) => /\/_oidc\/idp_[a-z0-9]+\/callback$/.test(uri);

server.on("request", provider.callback());
process.stdout.write(`${issuer}\n`);
process.stdin.resume().on("end", () => process.exit(0));
