import { create, type Message } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import {
  CredentialService,
  type ListCredentialsRequestSchema,
} from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import { createPageTokens } from './page-tokens.ts'

interface Call {
  readonly method: ServedMethod
  readonly principal_id: string
  readonly merchantId: string
}

const LIST: Call = {
  method: CredentialService.method.listCredentials,
  principal_id: 'p1',
  merchantId: '7001',
}

const requestOf = ({ method, merchantId }: Call, fields: Record<string, unknown> = {}): Message =>
  create(method.input as typeof ListCredentialsRequestSchema, { merchantId, ...fields })

/** What the owner gets of a page token that a call was answered with, in another call. */
function ownerTokenOf(first: Call, next: Call): unknown {
  const keyring = testKeys().cursor
  const answer = create(first.method.output, { nextPageToken: 'of the owner' })
  createPageTokens(first.method, keyring)?.open(requestOf(first), first.principal_id)(answer)
  const pageToken: unknown = Reflect.get(answer, 'nextPageToken')
  expect(pageToken).not.toContain('owner')
  const request = requestOf(next, { pageToken, pageSize: 7 })
  createPageTokens(next.method, keyring)?.open(request, next.principal_id)
  return Reflect.get(request, 'pageToken')
}

// O19
test('a page token goes on in the same list, of the same caller, with the same filters, in pages of any size', () => {
  expect(ownerTokenOf(LIST, LIST)).toBe('of the owner')
})

// O19
test.each([{ principal_id: 'p2' }, { merchantId: '7002' }, { method: EndpointService.method.listEndpoints }])(
  'a page token is refused with %j',
  (other) => {
    expect(() => ownerTokenOf(LIST, { ...LIST, ...other })).toThrow('page_token')
  },
)

// O19
test.each([
  [0, true],
  [1_000, true],
  [-1, false],
  [1_001, false],
])('a page size of %d is accepted: %p', (pageSize, is_accepted) => {
  const open = () =>
    createPageTokens(LIST.method, testKeys().cursor)?.open(requestOf(LIST, { pageSize }), LIST.principal_id)
  if (is_accepted) expect(open()).toBeInstanceOf(Function)
  else expect(open).toThrow('page_size is an integer from 1 to 1000')
})
