import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DEPLOY = join(import.meta.dirname, '../../deploy')

/** Where the alerts are as an object of the Prometheus operator. */
export const PROMETHEUS_RULE_PATH = 'deploy/components/prometheus-operator/alerts.yaml'

const HEAD = `# Made by npm run docs from components/telemetry/alerts.yaml: change that file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: multihub
  labels: { release: kube-prometheus-stack }
spec:
`

/** The alerts as a PrometheusRule, because kustomize cannot put one file into another. */
export function prometheusRuleText(): string {
  const alerts = readFileSync(join(DEPLOY, 'components/telemetry/alerts.yaml'), 'utf8')
  const groups = alerts.slice(alerts.indexOf('groups:'))
  return HEAD + groups.replace(/^(?=.)/gm, '  ')
}
