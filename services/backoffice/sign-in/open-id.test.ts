import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { listen } from '#lib/http/network.ts'
import { createOpenId } from './open-id.ts'

const CLIENT_ID = 'backoffice'
const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 })

function jwt(claims: object, key: KeyObject): string {
  const parts = [{ alg: 'RS256', kid: 'one' }, claims]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`
}

/** A provider with one key that confirms a device at once, with an ID token that `signing_key` has signed. */
async function startProvider(key: KeyObject, signing_key: KeyObject) {
  const server = createServer((request, response) => {
    const at_s = Math.floor(now().getTime() / 1_000)
    const claims = { iss: issuer, sub: 'asha', aud: CLIENT_ID, iat: at_s, exp: at_s + 60, groups: ['admins'] }
    const answers: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': {
        issuer,
        jwks_uri: `${issuer}/jwks`,
        token_endpoint: `${issuer}/token`,
        id_token_signing_alg_values_supported: ['RS256'],
      },
      '/jwks': { keys: [{ ...key.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'one' }] },
      '/token': { access_token: 'a', token_type: 'bearer', id_token: jwt(claims, signing_key) },
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[request.url ?? '']))
  })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'none' })
  const issuer = `http://${listening.host_and_port}`
  return { issuer, [Symbol.asyncDispose]: () => listening.close(0) }
}

// O21: else whoever answers in the place of the provider could give itself any group.
test('an ID token signs a person in only with a signature by a key of the provider', async () => {
  const [provider_key, other_key] = [newKey(), newKey()]
  for (const [signing_key, is_accepted] of [
    [provider_key, true],
    [other_key, false],
  ] as const) {
    await using provider = await startProvider(provider_key.publicKey, signing_key.privateKey)
    const open_id = createOpenId({
      issuer: provider.issuer,
      client_id: CLIENT_ID,
      client_secret: undefined,
      scopes: 'openid',
      group_claim: 'groups',
      redirect_url: 'http://localhost/session/callback',
    })
    const person = open_id.pollDevice('code')
    if (is_accepted) expect(await person).toMatchObject({ subject: 'asha', groups: ['admins'] })
    else await expect(person).rejects.toThrow('does not prove the sign-in')
    await open_id.close()
  }
})
