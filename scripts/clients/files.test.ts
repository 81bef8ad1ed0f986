import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../sources/sources.ts'
import { clientFiles } from './files.ts'
import { clientModel } from './schema.ts'

const files = clientFiles()

test('the generated files of the clients are current: npm run generate renews them', async () => {
  for (const { path, text } of files)
    expect({ path, text: await readFile(join(ROOT, path), 'utf8') }).toEqual({ path, text })
})

test('Go leaves out only an absent amount of a refund, which means all that remains', () => {
  const types = files.find(({ path }) => path === 'clients/go/types_gen.go')?.text
  expect(types).toMatch(/^\tAmount \*string `json:"amount,omitempty"`$/m)
  expect(types).not.toMatch(/^\tAmount string `json:"amount,omitempty"`$/m)
})

test('no generated file is left from an earlier generation', async () => {
  const entries = await readdir(join(ROOT, 'clients'), { recursive: true })
  const generated = entries.filter(
    (path) =>
      /(^|\/)[gG]en\/[^/]+\.\w+$|_gen\.go$/.test(path) && !/__pycache__|^python\/\.|(^|\/)dist\//.test(path),
  )
  expect(generated.map((path) => `clients/${path}`).sort()).toEqual(
    files
      .map(({ path }) => path)
      .filter((path) => /\/[gG]en\/|_gen\.go$/.test(path))
      .sort(),
  )
})

test('every amount is exact, and only a new payment is looked up before it is sent again', () => {
  const { methods, types } = clientModel()
  expect(methods.length).toBe(29)
  expect(methods.filter(({ key }) => key === 'payment').map(({ name }) => name)).toEqual([
    'payment.in',
    'payment.out',
  ])
  const amount = types.find(({ name }) => name === 'Amount')
  expect(amount?.type).toMatchObject({
    fields: [{ name: 'value', type: { kind: 'money' } }, { name: 'currency' }],
  })
})
