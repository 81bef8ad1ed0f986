import { BODY_MAX_BYTES } from '../../gateway/http/http-limits.ts'
import { DEPTH_MAX } from '../../gateway/json/parse-json.ts'
import type { Shape } from '../../gateway/json/schema.ts'
import { QR_PAYLOAD_MAX } from '../../gateway/methods/payment-result.ts'
import { DEFAULT_QUOTAS, PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'

const NUMBER = new Intl.NumberFormat('en-US')
const MIB = 1024 * 1024

/** The default quota of each bucket. */
export function quotaTable(): string {
  const lines = [...DEFAULT_QUOTAS].map(([name, quota]) => `| \`${name}\` | ${NUMBER.format(quota)} |`)
  return ['| Bucket | Calls per minute |', '|---|---|', ...lines].join('\n')
}

/** The greatest size of each text and amount of a request, from the schemas that check it, and of the whole body. */
export function sizeTable(): string {
  const bounds = PUBLIC_METHODS.flatMap(({ request }) => boundsOf(request))
  const by_maximum = Map.groupBy(bounds, ({ at_most }) => at_most)
  const lines = [...by_maximum].map(([at_most, equal]) => {
    const names = [...new Set(equal.map(({ field }) => `\`${field}\``))]
    return `| ${names.join(', ')} | ${at_most} |`
  })
  return [
    '| What | At most |',
    '|---|---|',
    `| body of a request | ${BODY_MAX_BYTES / MIB} MiB, nested ${DEPTH_MAX} deep |`,
    ...lines,
    `| \`receiver.qr_payload\` in responses | ${characters(QR_PAYLOAD_MAX)} |`,
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
        // The name of a method is one of a fixed list.
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

/** The path of a field without the envelopes `params` and `payment`. */
function nameOf(field: string, name: string): string {
  return field === '' || field === 'params' || field === 'payment' ? name : `${field}.${name}`
}

function characters(max: number): string {
  return `${NUMBER.format(max)} characters`
}
