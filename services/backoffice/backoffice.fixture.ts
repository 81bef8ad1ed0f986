import { type DescService, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { Role } from '#lib/role/role.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import { type RolesPlace, startRoles, type TestRoles } from '../../test/support/roles.ts'
import type { Right } from './domain/rights.ts'
import { role as backoffice } from './service.ts'

/** The token that counts while there is no administrator. */
export const FIRST_TOKEN = 'mhp_first'

/** An answer of the back office over HTTP. */
export interface DoorAnswer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  readonly body: any
}

/** A back office with the owners that a test needs, in this process, and with its real port. */
export interface TestDoor extends AsyncDisposable {
  readonly roles: TestRoles
  readonly url: string
  /** Calls an RPC as JSON with a token; the name is such as `multihub.merchants.v1.MerchantService/GetMerchant`. */
  call(
    token: string | undefined,
    rpc: string,
    request: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<DoorAnswer>
  /** A client in binary. */
  client<S extends DescService>(service: S, token: string): Client<S>
  /** Creates a principal with these rights and returns its id and token. */
  newPrincipal(rights: readonly Right[], merchant_id?: string): Promise<{ id: string; token: string }>
}

/** Starts the back office after the given roles. */
export async function startDoor(
  owners: readonly Role[],
  variables: Readonly<Record<string, string>> = {},
  place: RolesPlace = {},
): Promise<TestDoor> {
  return doorOf(await startRoles([...owners, backoffice], { ...DOOR_VARIABLES, ...variables }, place))
}

/** The variables of a back office with the first token, on a port of its own. */
export const DOOR_VARIABLES = {
  MULTIHUB_BACKOFFICE_PORT: '0',
  MULTIHUB_BACKOFFICE_FIRST_TOKEN: sha256Hex(FIRST_TOKEN),
}

/** The door of roles with a back office, which ends with them. */
export function doorOf(roles: TestRoles): TestDoor {
  const url = roles.urls['backoffice_url'] ?? ''
  return {
    roles,
    url,
    async call(token, rpc, request, headers = {}) {
      const response = await fetch(`${url}/${rpc}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: JSON.stringify(request),
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    },
    client: (service, token) =>
      createClient(
        service,
        createConnectTransport({
          baseUrl: url,
          httpVersion: '1.1',
          useBinaryFormat: true,
          interceptors: [
            (next) => (request) => {
              request.header.set('authorization', `Bearer ${token}`)
              return next(request)
            },
          ],
        }),
      ),
    async newPrincipal(rights, merchant_id = '') {
      const { principal, token } = await roles.client(PrincipalService, 'backoffice').createPrincipal({
        name: rights.join(' '),
        kind: PrincipalKind.PERSON,
        rights: [...rights],
        merchantId: merchant_id,
        operationId: uuidv7(),
      })
      return { id: principal?.principalId ?? '', token }
    },
    [Symbol.asyncDispose]: () => roles[Symbol.asyncDispose](),
  }
}

/** The bytes of a request with a field that its message does not declare. */
export function withUnknownField(method: ServedMethod, bytes: Uint8Array): Uint8Array {
  // Field 1000 as a varint with the value 1.
  const more = new Uint8Array([...bytes, 0xc0, 0x3e, 0x01])
  return toBinary(method.input, fromBinary(method.input, more))
}
