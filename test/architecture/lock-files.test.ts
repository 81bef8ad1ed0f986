import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

interface Entry {
  readonly integrity?: string
  readonly resolved?: string
}

// An entry without a hash would accept whatever a registry serves for it, today for one machine, tomorrow for another.
test.each(['package-lock.json', 'scripts/runtime/package-lock.json'])(
  'every entry of %s has a hash, and names no registry',
  (file) => {
    const packages: Readonly<Record<string, Entry>> = JSON.parse(readFileSync(file, 'utf8')).packages
    const entries = Object.entries(packages).filter(([path]) => path !== '')
    expect(entries.length).toBeGreaterThan(0)
    const without_hash = entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    expect(without_hash.map(([path]) => path)).toEqual([])
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  },
)

// A dependency that runs code at installation could take over a developer's machine or CI. None has to: lmdb comes built.
test('no installation of packages runs scripts of theirs', () => {
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(allowScripts).toBeUndefined()
  for (const file of ['scripts/run.mjs', 'deploy/image/assemble.ts', 'proofs/updates/other-release.ts']) {
    const lines = readFileSync(file, 'utf8').split('\n')
    const installing = lines.filter(
      (line) => /'(?:ci|install)'/.test(line) && !line.includes("step('install"),
    )
    expect(installing.filter((line) => !line.includes('--ignore-scripts'))).toEqual([])
  }
})
