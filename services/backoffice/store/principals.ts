import { type Page, type PageRequest, readPage } from '#lib/patterns/paging/read-page.ts'
import { insertOrGet, update } from '#lib/patterns/update.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { CollectionSpec, Store, Stored } from '#lib/store/store.ts'
import { isActive, type Principal } from '../domain/principal.ts'

/** A principal as it is stored: with what its indexes need. */
interface PrincipalDocument extends Principal {
  /** The fields of the creation, to tell a repetition from another request under its `operation_id`. */
  readonly payload_hash: string
  readonly token_hashes: readonly string[]
  /** Set while it has the right `admin` and was not revoked. */
  readonly admin_since?: Date
}

const SPEC = {
  name: 'principals',
  partition: ['principal_id'],
  key: ['principal_id'],
  indexes: {
    by_token: { fields: ['token_hashes[]'], across_partitions: true },
    in_order: { fields: ['created_at'], across_partitions: true },
    ...ACT_INDEX,
    admins: { fields: ['admin_since'], where: 'admin_since', across_partitions: true },
  },
} as const satisfies CollectionSpec

const keyOfPrincipal = keyOf(SPEC)

/** Administrators that a start of the system may have to look through. */
const ADMINS_READ_MAX = 1_000

/** The stored principals. */
export type Principals = Awaited<ReturnType<typeof openPrincipals>>

/** Opens the collection of principals. */
export async function openPrincipals(store: Store) {
  const collection = await store.collection<PrincipalDocument>(SPEC)
  return {
    /** The principal with this id, or `undefined`. */
    get: (principal_id: string): Promise<Principal | undefined> => collection.get({ principal_id }),
    /** The principal that has a token of this hash, whether or not it counts. */
    findByToken: (sha256: string): Promise<Principal | undefined> =>
      findOne(collection, 'by_token', [sha256]),
    /** A page of all principals in the order of their creation. Throws 9000 for a wrong page size or token. */
    list: (request: PageRequest): Promise<Page<Principal>> =>
      readPage(
        {
          collection,
          index: 'in_order',
          range: {},
          token_scope: {},
          position: { created_at: 'instant', principal_id: 'text' },
        },
        request,
      ),
    /** Adds a principal, or returns the one with this id. Returns the `payload_hash` of the stored one. */
    async insertOrGet(principal: Principal, payload_hash: string) {
      const document = documentOf(principal, payload_hash)
      return insertOrGet<PrincipalDocument>(collection, keyOfPrincipal(principal), document)
    },
    /** Changes a principal; `undefined` when there is none. `decide` is pure; `undefined` from it means "no change". */
    update: (
      principal_id: string,
      decide: (current: Principal) => Principal | undefined,
    ): Promise<Principal | undefined> =>
      update(collection, { principal_id }, (current: Stored<PrincipalDocument>) => {
        const next = decide(current)
        return next && documentOf(next, current.payload_hash)
      }),
    /** Whether a principal with the right `admin` may call at this time (O15.1). `issuer` is the configured OpenID provider. */
    async hasAdmin(at: Date, issuer: string | undefined): Promise<boolean> {
      const admins = await collection.find('admins', {}, { limit: ADMINS_READ_MAX })
      return admins.some((admin) => isActive(admin, at) && canSignIn(admin, issuer))
    },
  }
}

/** Whether anything proves who it is. Nobody could issue the first token of the only administrator. */
function canSignIn({ tokens, identity }: Principal, issuer: string | undefined): boolean {
  return tokens.length > 0 || (issuer !== undefined && identity?.issuer === issuer)
}

/** The stored form. Fields of another stored form that no longer hold are left out. */
function documentOf(principal: Principal, payload_hash: string): PrincipalDocument {
  const { admin_since: _before, ...rest } = principal as PrincipalDocument
  const is_admin = principal.status === 'active' && principal.rights.includes('admin')
  return {
    ...rest,
    payload_hash,
    token_hashes: principal.tokens.map(({ sha256 }) => sha256),
    ...(is_admin ? { admin_since: principal.created_at } : {}),
  }
}
