import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { Page, PageRequest } from '#lib/patterns/paging/read-page.ts'
import { nameOfRpc, OPERATOR_RPCS } from '../../domain/operator-rpcs.ts'
import type { Principal } from '../../domain/principal.ts'
import { SIGN_IN } from '../domain/audit-record.ts'

const NAMES: readonly string[] = [...OPERATOR_RPCS.map(({ method }) => nameOfRpc(method)), SIGN_IN]

/** A whole name is taken as it is: entries of other releases name RPCs that this one does not have. */
const WHOLE_NAME = /^multihub(?:\.\w+)+\/\w+$/

/** The most principals that are looked through for a name, in pages. */
const PAGES_MAX = 10
const PAGE_SIZE = 1_000

/** What finds principals. */
export interface PrincipalSource {
  readonly getPrincipal: (id: string) => Promise<Principal | undefined>
  readonly principals: { readonly list: (request: PageRequest) => Promise<Page<Principal>> }
}

/**
 * The whole name of an RPC in entries, also for its end, such as `BalanceService/Adjust` or `Adjust`. Throws 9000 for a text that is
 * the end of none, or of several, which it names.
 */
export function rpcNamed(text: string): string {
  if (WHOLE_NAME.test(text)) return text
  const named = NAMES.filter(
    (name) => name === text || name.endsWith(`/${text}`) || name.endsWith(`.${text}`),
  )
  const [name, ...others] = named
  if (name === undefined) throw fieldError(9000, 'rpc', 'the name of an RPC, such as BalanceService/Adjust')
  if (others.length > 0) throw fieldError(9000, 'rpc', `one of ${named.join(', ')}`)
  return name
}

/** The id of a principal, also for its name. Throws 9000 for a text that is neither, or the name of several, which it lists. */
export async function principalNamed(
  text: string,
  { getPrincipal, principals }: PrincipalSource,
): Promise<string> {
  if ((await getPrincipal(text)) !== undefined) return text
  const ids: string[] = []
  let page_token = ''
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await principals.list({ page_size: PAGE_SIZE, page_token })
    for (const { name, principal_id } of page.items) if (name === text) ids.push(principal_id)
    page_token = page.next_page_token
    if (page_token === '') break
  }
  const [id, ...others] = ids
  if (id === undefined) throw fieldError(9000, 'principal_id', 'the id or the whole name of a principal')
  if (others.length > 0)
    throw fieldError(9000, 'principal_id', `an id, because several have this name: ${ids.join(', ')}`)
  return id
}
