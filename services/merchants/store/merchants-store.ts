import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import {
  decodePageToken,
  encodePageToken,
  type Page,
  type PageRequest,
  type PositionFields,
  readPage,
} from '#lib/patterns/paging/read-page.ts'
import type { Store } from '#lib/store/store.ts'
import type { Credential } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { foldedName, type Merchant, type MerchantStatus, statusOf } from '../domain/merchant.ts'
import type { Route } from '../domain/route.ts'
import type { RegistryDocument } from '../domain/settings.ts'
import { openCreations } from './creations.ts'
import { openIssuedIds } from './issued-ids.ts'
import { openRegistryCollection, type RegistryCollection } from './registry-collection.ts'

/** The index by the age of the present secret. An endpoint without a secret is not in it. */
const SECRET_INDEX = {
  by_secret: { fields: ['secret_created_at'], where: 'secret_created_at', across_partitions: true },
} as const

/** All collections of the registry. */
export type MerchantsStore = Awaited<ReturnType<typeof openMerchantsStore>>

/**
 * Opens the collections of the registry in the database of this service. The order is the order of a backup
 * (docs/operators/backup.md): credentials, routes and endpoints name a merchant and have an issued id, so they are read
 * before those. The creation of each is stored first and read later.
 */
export async function openMerchantsStore(store: Store) {
  return {
    credentials: await openRegistryCollection<Credential>(store, {
      name: 'credentials',
      kind: ChangeKind.CREDENTIAL,
      id_field: 'application_id',
      id_form: 'number',
      indexes: SECRET_INDEX,
      unknown: 3003,
    }),
    routes: await openRegistryCollection<Route>(store, {
      name: 'routes',
      kind: ChangeKind.ROUTE,
      id_field: 'service_id',
      id_form: 'number',
      unknown: 1004,
    }),
    endpoints: await openRegistryCollection<Endpoint>(store, {
      name: 'endpoints',
      kind: ChangeKind.ENDPOINT,
      id_field: 'endpoint_id',
      id_form: 'uuid',
      indexes: SECRET_INDEX,
      unknown: 1003,
    }),
    merchants: await openRegistryCollection<Merchant>(store, {
      name: 'merchants',
      kind: ChangeKind.MERCHANT,
      id_field: 'merchant_id',
      id_form: 'digits',
      order: ['number'],
      indexes: {
        by_name: { fields: ['folded_name'], where: 'folded_name', across_partitions: true },
        by_status: { fields: ['status', 'number'], across_partitions: true },
        by_status_and_name: { fields: ['status', 'folded_name'], across_partitions: true },
      },
      derive: (merchant) => ({ folded_name: foldedName(merchant.name), status: statusOf(merchant) }),
      unknown: 1003,
    }),
    creations: await openCreations(store),
    issued_ids: await openIssuedIds(store),
  }
}

/** A page of the credentials or endpoints whose present secret was issued before an instant, the oldest first. */
export function listBySecretAge<D extends Credential | Endpoint>(
  { collection, spec }: RegistryCollection<D>,
  issued_before: Date,
  request: PageRequest,
): Promise<Page<D>> {
  const [id_field = ''] = spec.key
  const list = {
    collection,
    index: 'by_secret',
    range: { to: issued_before },
    token_scope: { list: 'secrets' },
    position: {
      secret_created_at: 'instant',
      [id_field]: id_field === 'application_id' ? 'integer' : 'text',
    },
  } as const
  return readPage(list, request)
}

/**
 * A page of merchants, with one status or all: in the order of their ids, or of their names when those begin with a text. Throws 9000
 * for a wrong page size or token.
 */
export function listMerchants(
  { merchants }: Pick<MerchantsStore, 'merchants'>,
  { status, name_prefix }: { readonly status: MerchantStatus | undefined; readonly name_prefix: string },
  request: PageRequest,
): Promise<Page<Merchant>> {
  const by_name = name_prefix !== ''
  const from = foldedName(name_prefix)
  const index =
    status === undefined ? (by_name ? 'by_name' : 'in_order') : by_name ? 'by_status_and_name' : 'by_status'
  const position: PositionFields = by_name
    ? { folded_name: 'text', merchant_id: 'text' }
    : { number: 'integer', merchant_id: 'text' }
  const list = {
    collection: merchants.collection,
    index,
    range: {
      equals: status === undefined ? [] : [status],
      ...(by_name && { from, to: from + PAST_ALL }),
    },
    // The text itself would make the token too long.
    token_scope: { ...(status && { status }), name: sha256Hex(from).slice(0, 16) },
    position,
  } as const
  return readPage(list, request)
}

/** Sorts after every text that goes on with another character. */
const PAST_ALL = '\u{10ffff}'

/**
 * A page of the merchants whose name begins with a text, in the order of their names, without the one that has the text as its id.
 * Of one merchant, only itself is read.
 */
export async function findMerchantsByName(
  { merchants }: Pick<MerchantsStore, 'merchants'>,
  { text, merchant_id }: { readonly text: string; readonly merchant_id: string | undefined },
  { page_size, page_token }: PageRequest,
): Promise<{ readonly merchants: readonly Merchant[]; readonly next_page_token: string }> {
  const from = foldedName(text)
  if (merchant_id !== undefined) {
    const own = await merchants.find(merchant_id)
    const is_found = own && own.merchant_id !== text && foldedName(own.name).startsWith(from)
    return { merchants: is_found && page_token === '' ? [own] : [], next_page_token: '' }
  }
  const after = decodePageToken(page_token, {}, { folded_name: 'text', merchant_id: 'text' })
  const size = Math.min(page_size, NAMES_MAX)
  const range = { from, to: from + PAST_ALL }
  // One more shows whether there is another page, and one more can be the merchant that is left out.
  const read = await merchants.collection.find('by_name', range, { limit: size + 2, after })
  const found = read.filter((merchant) => merchant.merchant_id !== text)
  const shown = found.slice(0, size)
  const { folded_name = '', merchant_id: last_id = '' } = shown.at(-1) ?? {}
  const token = found.length > size ? encodePageToken({ folded_name, merchant_id: last_id }) : ''
  return { merchants: shown, next_page_token: token }
}

/** The most merchants of a page of a search. */
const NAMES_MAX = 500

/** Announces that a document of the registry was created or updated. Never throws. */
export type AnnounceChange = (change: {
  readonly kind: ChangeKind
  readonly id: string
  readonly merchant_id: string
}) => Promise<void>

/**
 * Wraps the store so that each insert and update is announced, and throws `Unavailable` while the clock of this process is
 * wrong. Registry caches find changes by `updated_at`, so a change with a wrong time, such as a revoked credential, would be
 * missed.
 */
export function watchWrites(
  store: MerchantsStore,
  clock_guard: ClockGuard,
  announceChange: AnnounceChange,
): MerchantsStore {
  function watched<D extends RegistryDocument>(collection: RegistryCollection<D>): RegistryCollection<D> {
    const announced = async (write: () => Promise<D>): Promise<D> => {
      clock_guard.assertTrusted()
      const written = await write()
      const { kind, idOf } = collection
      await announceChange({ kind, id: idOf(written), merchant_id: written.merchant_id })
      return written
    }
    return {
      ...collection,
      insert: (document) => announced(() => collection.insert(document)),
      update: (id, decide) => announced(() => collection.update(id, decide)),
    }
  }
  return {
    ...store,
    merchants: watched(store.merchants),
    credentials: watched(store.credentials),
    routes: watched(store.routes),
    endpoints: watched(store.endpoints),
  }
}
