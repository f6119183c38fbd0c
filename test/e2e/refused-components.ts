/** What the API servers of real clusters refused the clusters' own components: one that works is refused nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listClusters, statePaths } from '../../cluster/state/state-dir.ts'

const components = new Set(['kube-controller-manager', 'kube-scheduler', 'kubelet'])

interface Refusal {
  readonly message: string
  readonly user: string
  readonly userAgent: string
  readonly verb: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly why: string
}

function refusalIn(line: string): string[] {
  if (!line.includes('a component of the cluster was refused')) return []
  const { user, userAgent, verb, resource, namespace, name, why } = JSON.parse(line) as Refusal
  // A test that borrows a component's credentials is another client.
  if (!components.has(userAgent)) return []
  // An agent may still ask for what a pod used that has just gone.
  if (why.includes('no relationship found between node')) return []
  return [`${user} cannot ${verb} ${resource} ${namespace}/${name}`]
}

/** A line for each, of every cluster whose files are there and that is not `underprivileged`. */
export function refusedComponents(
  stateRoot: string,
  underprivileged: readonly string[] = [],
): string[] {
  return listClusters(stateRoot).flatMap((name) => {
    if (underprivileged.includes(name)) return []
    const { logs } = statePaths(stateRoot, name)
    return (existsSync(logs) ? readdirSync(logs) : [])
      .filter((file) => /^api-server(-\d+)?\.log(\.1)?$/.test(file))
      .map((file) => join(logs, file))
      .flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, -1).flatMap(refusalIn))
      .map((refusal) => `cluster ${name}: ${refusal}`)
  })
}
