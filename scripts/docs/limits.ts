import { BODY_MAX_BYTES } from '../../gateway/http/http-limits.ts'
import { DEPTH_MAX } from '../../gateway/json/parse.ts'
import type { Shape } from '../../gateway/json/schema.ts'
import { DEFAULT_QUOTAS } from '../../gateway/limits/quotas.ts'
import { QR_PAYLOAD_MAX } from '../../gateway/openapi/results.ts'
import { methodsForReading } from './openapi.ts'

const NUMBER = new Intl.NumberFormat('en-US')
const MIB = 1024 * 1024

/** The default quota of every bucket that the methods there are take from. */
export function quotaTable(): string {
  const { methods, resend } = methodsForReading()
  const lines = [...methods, resend].flatMap(({ name }) => {
    const quota = DEFAULT_QUOTAS.get(name)
    return quota === undefined ? [] : [`| \`${name}\` | ${NUMBER.format(quota)} |`]
  })
  return ['| Bucket | Calls a minute |', '|---|---|', ...lines].join('\n')
}

/** How much every text and amount of a request may hold, by the schemas that judge it, and what bounds the whole. */
export function sizeTable(): string {
  const { methods, resend } = methodsForReading()
  const bounds = [...methods, resend].flatMap(({ shape }) => boundsOf(shape))
  const fields = Map.groupBy(bounds, ({ at_most }) => at_most)
  const lines = [...fields].map(([at_most, alike]) => {
    const names = [...new Set(alike.map(({ field }) => `\`${field}\``))]
    return `| ${names.join(', ')} | ${at_most} |`
  })
  return [
    '| What | At most |',
    '|---|---|',
    `| body of a request | ${BODY_MAX_BYTES / MIB} MiB, nested ${DEPTH_MAX} deep |`,
    ...lines,
    `| \`receiver.qr_payload\` in answers | ${characters(QR_PAYLOAD_MAX)} |`,
  ].join('\n')
}

interface Bound {
  readonly field: string
  readonly at_most: string
}

function boundsOf(shape: Shape, field = ''): readonly Bound[] {
  switch (shape.type) {
    case 'object':
      return Object.entries(shape.fields).flatMap(([name, inner]) =>
        // The name of a method is one of a list.
        name === 'method' ? [] : boundsOf(inner, nameOf(field, name)),
      )
    case 'text':
      return [{ field, at_most: characters(shape.max) }]
    case 'integer':
      return shape.max === undefined ? [] : [{ field, at_most: `${NUMBER.format(shape.max)} minor units` }]
    case 'list':
      return [{ field, at_most: `${shape.max} entries` }, ...boundsOf(shape.item, field)]
    case 'anything':
      return []
  }
}

/** The envelopes around what a request is about are left out. */
function nameOf(field: string, name: string): string {
  return field === '' || field === 'params' || field === 'payment' ? name : `${field}.${name}`
}

function characters(max: number): string {
  return `${NUMBER.format(max)} characters`
}
