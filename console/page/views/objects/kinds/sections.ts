/** sections: kinds in the order in which people look for them. Pure. */
import { qualifiedName, type Kind } from './kinds.ts'

export interface Section {
  readonly title: string
  readonly kinds: readonly Kind[]
}

/** What most visits are for, without the domain of the group; everything else follows by its group. */
const favourites: readonly (readonly [title: string, names: readonly string[]])[] = [
  [
    'Workloads',
    [
      'pods',
      'deployments.apps',
      'replicasets.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'jobs.batch',
      'cronjobs.batch',
    ],
  ],
  ['Config', ['configmaps', 'secrets', 'services', 'ingresses.networking', 'namespaces']],
  [
    'Access',
    [
      'serviceaccounts',
      'roles.rbac.authorization',
      'rolebindings.rbac.authorization',
      'clusterroles.rbac.authorization',
      'clusterrolebindings.rbac.authorization',
    ],
  ],
]

/** Groups that come with the API server; what else a viewer sees may be custom. */
const builtInGroups = /^(|apps|autoscaling|batch|extensions|policy|[a-z.]+\.(?:k8s|svc)\.io)$/

function matches({ kind, plural, group, shortNames }: Kind, words: readonly string[]): boolean {
  const text = [kind, plural, group, ...shortNames].join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}

/**
 * Sections without kinds are left out. `custom` holds the names of the CustomResourceDefinitions; undefined when the viewer may not
 * list them: then groups tell.
 */
export function sectionsOf(
  kinds: readonly Kind[],
  options: { readonly search: string; readonly custom: ReadonlySet<string> | undefined },
): Section[] {
  const words = options.search.toLowerCase().split(/\s+/).filter(Boolean)
  const left = new Map(
    kinds.filter((kind) => matches(kind, words)).map((kind) => [qualifiedName(kind), kind]),
  )
  const take = (title: string, names: Iterable<string>): Section => {
    const taken: Kind[] = []
    for (const name of names) {
      const kind = left.get(name)
      if (kind === undefined) continue
      taken.push(kind)
      left.delete(name)
    }
    return { title, kinds: taken }
  }
  const isCustom = (kind: Kind): boolean =>
    options.custom?.has(qualifiedName(kind)) ?? !builtInGroups.test(kind.group)
  const whole = (name: string): string =>
    [...left.keys()].find(
      (one) => one === name || (name.includes('.') && one.startsWith(`${name}.`)),
    ) ?? name
  const sections = favourites.map(([title, names]) => take(title, names.map(whole)))
  const custom = [...left.values()].filter(isCustom).map(qualifiedName).toSorted()
  sections.push(take('Custom', custom))
  const groups = new Set([...left.values()].map(({ group }) => group))
  for (const group of groups) {
    const ofGroup = [...left.values()].filter((kind) => kind.group === group)
    sections.push(take(group === '' ? 'Core' : group, ofGroup.map(qualifiedName)))
  }
  return sections.filter(({ kinds: some }) => some.length > 0)
}
