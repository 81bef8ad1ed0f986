import { type Message, toJson } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { canonicalJson, type JsonValue } from '#lib/patterns/idempotency/idempotency.ts'
import { PAGE_SIZE_MAX } from '#lib/patterns/paging/read-page.ts'
import { RpcStatusError } from '#lib/rpc/errors.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import { nameOfRpc } from '../domain/operator-rpcs.ts'
import { fieldsOf } from './message-fields.ts'

/** Far longer than a sealed token of an owner. */
const TOKEN_MAX = 4_096

/**
 * Binds the page tokens of one list to the principal and the filters of the call: a token of another caller, list or filter is
 * refused with INVALID_ARGUMENT (O19). The tokens of the owners are inside, sealed. `undefined` for an RPC that is not a list.
 */
export function createPageTokens(method: ServedMethod, keyring: Keyring) {
  const is_list = method.input.fields.some(({ name }) => name === 'page_token')
  if (!is_list) return undefined
  const ownerOf = (request: Message, principal_id: string): string => {
    const {
      pageToken: _token,
      pageSize: _size,
      ...filters
    } = toJson(method.input, request) as {
      readonly [field: string]: JsonValue
    }
    return `page:${canonicalJson({ principal_id, rpc: nameOfRpc(method), filters })}`
  }
  return {
    /** Replaces the token of a request by the token of the owner. Returns the function that seals the token of its answer. */
    open(request: Message, principal_id: string): (answer: Message) => void {
      const { pageToken, pageSize } = fieldsOf(request)
      if (typeof pageSize === 'number' && (pageSize < 0 || pageSize > PAGE_SIZE_MAX))
        throw refusal(`page_size is an integer from 1 to ${PAGE_SIZE_MAX}`)
      const owner = ownerOf(request, principal_id)
      if (pageToken !== '') Reflect.set(request, 'pageToken', unseal(keyring, String(pageToken), owner))
      return (answer) => {
        const { nextPageToken } = fieldsOf(answer)
        if (typeof nextPageToken === 'string' && nextPageToken !== '')
          Reflect.set(answer, 'nextPageToken', keyring.seal(new Secret(nextPageToken), owner))
      }
    },
  }
}

function unseal(keyring: Keyring, token: string, owner: string): string {
  try {
    if (token.length <= TOKEN_MAX) return keyring.unseal(token, owner).reveal()
  } catch {
    // The reason would tell a forger which part was wrong.
  }
  throw refusal('page_token is the next_page_token of a page of the same list, caller and filters')
}

function refusal(reason: string): RpcStatusError {
  return new RpcStatusError(Code.InvalidArgument, reason)
}
