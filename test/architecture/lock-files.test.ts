import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** The calls of npm that install packages: lists of its words in programs, and commands in scripts of the shell. */
const INSTALLATION = /\[[^[\]]*'(?:ci|install)'[^[\]]*\]|^\s*npm (?:ci|install)(?:[^\n]*\\\n)*[^\n]*/gm

// A dependency that runs code at installation could take over a developer's machine or CI. None has to: lmdb comes built.
test('no installation of packages runs scripts of theirs', () => {
  const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(allowScripts).toBeUndefined()
  const installations = ['scripts', 'deploy', 'proofs'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:ts|mjs|sh)$/.test(file) && !file.includes('node_modules'))
      .flatMap((file) => {
        const texts = readFileSync(join(folder, file), 'utf8').match(INSTALLATION) ?? []
        return texts.map((text) => [join(folder, file), text.includes('--ignore-scripts')])
      }),
  )
  expect(installations.filter(([, ignores_scripts]) => !ignores_scripts)).toEqual([])
  expect(installations).toHaveLength(8)
})
