/** The objects of a workload story, small and quick to settle. */
import type { KubeObject } from '../../../components/machinery/objects/object.ts'

type Place = { readonly namespace: string; readonly name: string }

/** Pods ask for little, so that the room of small machines is enough for a story and not for everything at once. */
const requests = { cpu: '20m', memory: '8Mi' }

function template(app: string, more: { annotations?: Record<string, string>; spec?: object } = {}) {
  const { annotations = {}, spec = {} } = more
  return {
    metadata: { labels: { app }, annotations },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'example.com/app:0', resources: { requests } }],
      ...spec,
    },
  }
}

const labelled = (app: string) => ({
  selector: { matchLabels: { app } },
  template: template(app),
})

export function statefulSet(
  { namespace, name }: Place,
  { replicas, isParallel }: { replicas: number; isParallel: boolean },
): KubeObject {
  const podManagementPolicy = isParallel ? 'Parallel' : 'OrderedReady'
  const spec = { replicas, serviceName: name, podManagementPolicy, ...labelled(`set-${name}`) }
  return { metadata: { namespace, name: `set-${name}` }, spec }
}

export function deployment({ namespace, name }: Place, replicas: number): KubeObject {
  return {
    metadata: { namespace, name: `web-${name}` },
    spec: { replicas, ...labelled(`web-${name}`) },
  }
}

export function daemonSet({ namespace, name }: Place): KubeObject {
  return { metadata: { namespace, name: `each-${name}` }, spec: labelled(`each-${name}`) }
}

export function job(
  { namespace, name }: Place,
  spec: { completions: number; parallelism: number; isIndexed: boolean; fails: boolean },
): KubeObject {
  const { completions, parallelism, isIndexed, fails } = spec
  const annotations = { 'skiff.dev/exit-after': '300ms', 'skiff.dev/exit-code': fails ? '1' : '0' }
  return {
    metadata: { namespace, name: `job-${name}` },
    spec: {
      completions,
      parallelism,
      completionMode: isIndexed ? 'Indexed' : 'NonIndexed',
      backoffLimit: fails ? 0 : 2,
      template: template(`job-${name}`, { annotations, spec: { restartPolicy: 'Never' } }),
    },
  }
}

export function budget(
  { namespace, name }: Place,
  { app, minAvailable }: { app: string; minAvailable: number | string },
): KubeObject {
  return {
    metadata: { namespace, name },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  }
}

export function quota(namespace: string, pods: number): KubeObject {
  return { metadata: { namespace, name: 'few' }, spec: { hard: { pods: String(pods) } } }
}

export function autoscaler({ namespace, name }: Place): KubeObject {
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: `web-${name}` }
  return {
    metadata: { namespace, name: `web-${name}` },
    spec: { scaleTargetRef: target, minReplicas: 1, maxReplicas: 4 },
  }
}
