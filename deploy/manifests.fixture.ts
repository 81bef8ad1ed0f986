import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { findInstalledProgram } from '../test/support/needs.ts'

/** The parts of a Kubernetes object that the tests read. */
export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels }
  /** Of a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly replicas?: number
    readonly serviceName?: string
    readonly strategy?: {
      readonly type: string
      readonly rollingUpdate?: { readonly maxSurge?: number | string }
    }
    readonly selector?: unknown
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec }
    readonly jobTemplate?: { readonly spec: Manifest['spec'] }
    readonly suspend?: boolean
    readonly clusterIP?: string
    readonly publishNotReadyAddresses?: boolean
    readonly ports?: readonly { readonly port: number; readonly targetPort?: string }[]
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string }
    readonly minReplicas?: number
    readonly maxReplicas?: number
    readonly maxUnavailable?: unknown
    readonly unhealthyPodEvictionPolicy?: string
  }
}

/** The labels of an object. */
export type Labels = Readonly<Record<string, string>>

/** The parts of a pod that the tests read. */
export interface PodSpec {
  readonly terminationGracePeriodSeconds?: number
  readonly topologySpreadConstraints?: readonly {
    readonly topologyKey: string
    readonly maxSkew: number
    readonly whenUnsatisfiable: string
    readonly labelSelector: { readonly matchLabels: Labels }
    readonly matchLabelKeys?: readonly string[]
  }[]
  readonly containers: readonly Container[]
  readonly volumes: readonly Volume[]
}

/** A volume of a pod. The tests read those of secrets. */
export interface Volume {
  readonly name: string
  readonly secret?: {
    readonly secretName: string
    readonly defaultMode?: number
    readonly items?: readonly { readonly key: string; readonly path: string }[]
  }
}

/** The parts of a container that the tests read. */
export interface Container {
  readonly image?: string
  readonly args: readonly string[]
  readonly env: readonly Variable[]
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } }
  readonly volumeMounts: readonly Mount[]
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities }
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
}

/** Where a container has a volume. */
export interface Mount {
  readonly name: string
  readonly mountPath: string
  readonly readOnly?: boolean
}

/** Processor and memory, as Kubernetes writes them. */
export type Quantities = Readonly<Partial<Record<'cpu' | 'memory', string | number>>>

/** How often Kubernetes asks a container something, and after how many failures it acts. */
export interface Probe {
  readonly periodSeconds?: number
  readonly timeoutSeconds?: number
  readonly failureThreshold?: number
}

/** A variable of a container, with its value or the place where the cluster finds it. */
export interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string }
    readonly fieldRef?: { readonly fieldPath: string }
    readonly configMapKeyRef?: { readonly key: string; readonly optional?: boolean }
  }
}

/** The label that names the role of a pod. */
export const NAME_LABEL = 'app.kubernetes.io/name'

const kustomize = findInstalledProgram('kustomize')

/** `describe` for tests that build manifests. Without kustomize it prints why, and skips them. */
export const describeManifests = kustomize === undefined ? describe.skip : describe

/** The same for each overlay, whose name the tests get. */
export const describeOverlays = describeManifests.each(['development', 'production'])

/** All objects of an overlay, as kustomize builds them; none where tests are skipped, as their tables are still made. */
export function buildOverlay(name: string): readonly Manifest[] {
  return buildFolder(resolve(import.meta.dirname, 'overlays', name))
}

/** All objects of the kustomization in a folder. */
export function buildFolder(folder: string): readonly Manifest[] {
  if (kustomize === undefined) return []
  const text = execFileSync(kustomize, ['build', folder], { encoding: 'utf8' })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** The objects that start pods, those of the virus scanner and the commands included. */
export function startersOf(manifests: readonly Manifest[]): readonly Manifest[] {
  const started = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
  return [...started, ...commandsOf(manifests)]
}

/** The commands of the operator: the jobs that are made from the CronJobs. */
export function commandsOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.flatMap(({ kind, metadata, spec }) =>
    kind === 'CronJob' && spec.jobTemplate ? [{ kind: 'Job', metadata, spec: spec.jobTemplate.spec }] : [],
  )
}

/** The objects that start pods of Multihub. */
export function workloadsOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return startersOf(manifests).filter(({ metadata }) => metadata.name !== 'clamav')
}

/** The workloads whose pods serve, which are all but the jobs. */
export function serversOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return workloadsOf(manifests).filter(({ kind }) => kind !== 'Job')
}

/** The one container of the pods of a workload. */
export function containerOf({ spec }: Manifest): Container {
  const [container, ...others] = spec.template.spec.containers
  if (container === undefined || others.length > 0) throw new Error('a pod has one container')
  return container
}
