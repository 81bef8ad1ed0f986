import { createHash } from 'node:crypto'
import { nkeys } from '@nats-io/transport-node'

/** The accounts of a NATS server that authenticates its users by JWT. */
export interface NatsAccounts {
  /** The part of the server's configuration that trusts them. */
  readonly server_config: string
  /** The content of a credentials file (.creds) of one user. */
  readonly credentials: string
}

/** Makes an operator with one account and one user. */
export function makeNatsAccounts(): NatsAccounts {
  const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()]
  const operator_jwt = sign(operator, operator, 'operator', {})
  const unlimited = {
    subs: -1,
    conn: -1,
    leaf: -1,
    imports: -1,
    exports: -1,
    data: -1,
    payload: -1,
    wildcards: true,
  }
  const account_jwt = sign(operator, account, 'account', { limits: unlimited })
  const user_jwt = sign(account, user, 'user', { subs: -1, data: -1, payload: -1 })
  const seed = new TextDecoder().decode(user.getSeed())
  return {
    server_config: [
      `operator: ${operator_jwt}`,
      'resolver: MEMORY',
      `resolver_preload: { ${account.getPublicKey()}: ${account_jwt} }`,
    ].join('\n'),
    credentials: [
      '-----BEGIN NATS USER JWT-----',
      user_jwt,
      '------END NATS USER JWT------',
      '-----BEGIN USER NKEY SEED-----',
      seed,
      '------END USER NKEY SEED------',
      '',
    ].join('\n'),
  }
}

/** A JWT of version 2 about `subject`, signed by `issuer`. */
function sign(issuer: nkeys.KeyPair, subject: nkeys.KeyPair, type: string, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const payload = {
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: type,
    nats: { ...claims, type, version: 2 },
  }
  const jti = createHash('sha256').update(JSON.stringify(payload)).digest('hex')
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...payload, jti })}`
  return `${signed}.${Buffer.from(issuer.sign(new TextEncoder().encode(signed))).toString('base64url')}`
}
