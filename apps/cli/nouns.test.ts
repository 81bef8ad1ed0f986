import type { DescMessage, DescMethodUnary } from '@bufbuild/protobuf'
import { describe, expect, test } from '@jest/globals'
import type { Noun, Verb } from './nouns/noun.ts'
import { NOUNS } from './nouns.ts'
import { rowsField } from './output/print.ts'

interface Entry {
  readonly title: string
  readonly verb: Verb
  readonly method: DescMethodUnary | undefined
}

const nouns = await Promise.all(
  NOUNS.map(async ({ name, load }) => ({ name, noun: (await load()).noun as Noun })),
)
const entries: readonly Entry[] = (
  await Promise.all(
    nouns.flatMap(({ name, noun }) =>
      noun.verbs.map(async (verb) => {
        const service = await (verb.service ?? noun.service)()
        return {
          title: `${name} ${verb.name}`,
          verb,
          method: service.method[verb.rpc] as DescMethodUnary | undefined,
        }
      }),
    ),
  )
).flat()

describe.each(entries)('$title', ({ verb, method }) => {
  test('calls an RPC that exists, with the fields that it names', () => {
    expect(method?.methodKind).toBe('unary')
    const fields = method?.input.fields.map(({ name }) => name) ?? []
    if (verb.id !== undefined) expect(fields).toContain(verb.id)
    if (verb.many !== undefined) {
      const input = method?.parent.method[verb.many.rpc]?.input.fields.map(({ name }) => name)
      expect(input).toEqual(expect.arrayContaining([verb.many.filter, 'dry_run']))
    }
  })

  test('shows columns that the rows have', () => {
    if (verb.columns === undefined || method === undefined) return
    const row = rowsField(method.output).message
    expect(verb.columns.filter((column) => !hasPath(row, column.replace(/:.*/, '')))).toEqual([])
  })
})

function hasPath(desc: DescMessage, path: string): boolean {
  const [first = '', ...rest] = path.split('.')
  const field = desc.fields.find(({ name }) => name === first)
  if (field === undefined) return false
  if (rest.length === 0) return true
  return field.fieldKind === 'message' && hasPath(field.message, rest.join('.'))
}
