import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'

/** Where a client has the defaults of its settings. */
const DEFAULTS = [
  ['python', 'src/multihub_client/transport.py', /^ {4}(\w+): (?:float|int) = ([\d.]+)$/gm],
  ['typescript', 'src/client.ts', /(?<=const DEFAULTS = \{.*)\b(\w+): ([\d_]+)/g],
  ['php', 'src/Settings.php', /public readonly int \$(\w+) = ([\d_]+)/g],
  ['go', 'client.go', /orDefault\(&settings\.(\w+), (.+)\)/g],
] as const

test.each(DEFAULTS)(
  'the page of the client in %s has the defaults of its settings',
  async (name, source, pattern) => {
    const [code, page] = await Promise.all(
      [source, 'README.md'].map((file) => readFile(join(ROOT, 'clients', name, file), 'utf8')),
    )
    const defaults = [...(code ?? '').matchAll(pattern)].map(([, setting = '', value = '']) => [
      setting,
      /^[\d._]+$/.test(value) && name !== 'go' ? `${Number(value.replaceAll('_', ''))}` : `\`${value}\``,
    ])
    expect(defaults).toHaveLength(5)
    const [, section = ''] = (page ?? '').split('## Settings')
    const rows = [...section.matchAll(/^\| `(\w+)` \| (.+?) \|/gm)].map(([, setting, value]) => [
      setting,
      value,
    ])
    expect(rows.slice(0, 5)).toEqual(defaults)
  },
)

test.each(['python', 'typescript', 'php', 'go'])(
  'the page of the client in %s names what its errors have',
  async (name) => {
    const page = await readFile(join(ROOT, 'clients', name, 'README.md'), 'utf8')
    const files = {
      python: ['src/multihub_client/errors.py'],
      typescript: ['src/errors.ts'],
      php: ['OutcomeUnknownError', 'RefusalError', 'TransportError', 'CallbackError'].map(
        (one) => `src/${one}.php`,
      ),
      go: ['errors.go'],
    }[name]
    const texts = await Promise.all(
      (files ?? []).map((file) => readFile(join(ROOT, 'clients', name, file), 'utf8')),
    )
    const rows = [...page.matchAll(/^\| `\*?(\w+Error)` \|.*\| (.+) \|$/gm)]
    expect(rows).toHaveLength(4)
    const named = rows.flatMap(([, , has = '']) =>
      [...has.matchAll(/`(\w+)(?:\(\))?`/g)].map(([, one = '']) => one),
    )
    // PHP's own classes have these two.
    const inherited = ['getCode', 'getPrevious', ...(name === 'typescript' ? ['cause'] : [])]
    const missing = named.filter(
      (one) => !inherited.includes(one) && !new RegExp(`\\b${one}\\b`).test(texts.join('\n')),
    )
    expect(named.length).toBeGreaterThan(8)
    expect(missing).toEqual([])
  },
)
