import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parse } from 'yaml'

/** The production overlay with components that a cluster may have. Gateway API and Ingress exclude each other. */
export const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'with the Gateway API, cert-manager and KEDA': [
    'gateway-api',
    'cert-manager',
    'priority-classes',
    'autoscaling-keda',
  ],
  'with an Ingress and External Secrets': ['ingress', 'external-secrets'],
}

/** A definition of a kind that Kubernetes does not have by itself. */
export interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: object }
    }[]
  }
}

/** The definitions of the kinds that the components use. */
export function readDefinitions(): readonly Definition[] {
  const folder = join(import.meta.dirname, 'crds')
  return readdirSync(folder).map((name) => parse(readFileSync(join(folder, name), 'utf8')) as Definition)
}

/** Calls `use` with a folder that has production with components and more lines of a kustomization; removes it afterwards. */
export function withVariant<T>(components: readonly string[], more: string, use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'multihub-variant-'))
  try {
    const from = (path: string): string => relative(folder, resolve(import.meta.dirname, path))
    const lines = [
      'namespace: multihub',
      `resources: [${from('overlays/production')}]`,
      `components: [${components.map((name) => from(`components/${name}`)).join(', ')}]`,
    ]
    writeFileSync(join(folder, 'kustomization.yaml'), `${lines.join('\n')}\n${more}`)
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
