import { clock } from '#lib/base/time.ts'
import { keyPartText, kindRange } from '../keys.ts'
import type { Layout } from '../layout.ts'
import type { KeyPrefixes } from './catalog.ts'
import { type Documents, isExpired } from './documents.ts'
import type { LmdbEnvironment } from './environment.ts'

/** A collection whose documents expire. */
export interface Expiring {
  readonly prefixes: KeyPrefixes
  readonly documents: Documents
}

const INDEX = 'expires'
const PASS_MAX = 10_000
const GROUP_MAX = 500

/** The layout with an additional index over the expiry time, which only the sweeper uses. */
export function withExpiry(layout: Layout): Layout {
  if (layout.expires === undefined) return layout
  const path = [layout.expires]
  const index = {
    name: INDEX,
    paths: [path],
    many: false,
    unique: false,
    where: path,
    across_partitions: true,
  }
  return { ...layout, indexes: [...layout.indexes, index] }
}

/** Deletes expired documents, a limited number per pass. Readers never see expired documents anyway. */
export async function deleteExpired(
  environment: LmdbEnvironment,
  expiring: readonly Expiring[],
): Promise<void> {
  for (const { prefixes, documents } of expiring) {
    const keys = expiredKeys(environment, prefixes)
    while (keys.length > 0) {
      const group = keys.splice(0, GROUP_MAX)
      await environment.write(() => ({ result: undefined, apply: () => removeExpired(documents, group) }))
    }
  }
}

function removeExpired(documents: Documents, keys: readonly string[]): void {
  for (const key of keys) {
    const header = documents.header(key)
    if (header !== undefined && isExpired(header)) documents.remove(key, header)
  }
}

function expiredKeys(environment: LmdbEnvironment, prefixes: KeyPrefixes): string[] {
  const prefix = prefixes.indexes.find(({ index }) => index.name === INDEX)?.prefix
  const start = `${prefixes.collection}${prefix} ${kindRange(new Date(0)).first}`
  const end = `${prefixes.collection}${prefix} ${keyPartText(new Date(clock.now_ms() + 1))}`
  return environment.read(() =>
    [...environment.table.getRange({ start, end, limit: PASS_MAX })].map(({ value }) =>
      Buffer.from(value).toString(),
    ),
  )
}
