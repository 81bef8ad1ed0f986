import { expect, test } from '@jest/globals'
import { chainsTo, importCycles, importsOf } from './import-graph.ts'

const file = (path: string, text: string) => ({ path, text, lines: 1 })
const all = (...files: ReturnType<typeof file>[]) => files.flatMap(importsOf)

test('reads each form of import, with its names', () => {
  const text = `
import { type A, b as c } from '#lib/one.ts'
import type { D } from './two.ts'
import * as e from 'package'
import './three.ts'
const lazy = await import('../four.ts')`
  expect(importsOf(file('services/x/probe.ts', text))).toEqual([
    { from: 'services/x/probe.ts', to: 'lib/one.ts', names: ['A', 'b'], is_type: false },
    { from: 'services/x/probe.ts', to: 'services/x/two.ts', names: ['D'], is_type: true },
    { from: 'services/x/probe.ts', to: 'package', names: [], is_type: false },
    { from: 'services/x/probe.ts', to: 'services/x/three.ts', names: [], is_type: false },
    { from: 'services/x/probe.ts', to: 'services/four.ts', names: [], is_type: false },
  ])
})

test('finds what a file loads through other files', () => {
  const imports = all(
    file('a.ts', "import { b } from './b.ts'"),
    file('b.ts', "import { clock } from './clock.ts'"),
    file('c.ts', "import { d } from './d.ts'"),
  )
  const chains = chainsTo(
    imports,
    (path) => path !== 'b.ts',
    (path) => path === 'clock.ts',
  )
  expect(chains).toEqual(['a.ts -> b.ts -> clock.ts'])
})

test('finds a cycle through several files', () => {
  const imports = all(
    file('a.ts', "import { b } from './b.ts'"),
    file('b.ts', "import { c } from './c.ts'"),
    file('c.ts', "import { b } from './b.ts'"),
  )
  expect(importCycles(imports)).toEqual(['b.ts -> c.ts -> b.ts', 'c.ts -> b.ts -> c.ts'])
})
