/** chooseMonitors: built-in monitors by their names, and monitors made of expressions. */
import { nearestName } from '../components/component-base/flags.ts'
import { messageOf } from '../components/component-base/log.ts'
import type { Client } from '../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../components/client/server-resources.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import { CelCompileError } from '../components/cel/cel.ts'
import { ClusterError } from '../cluster/cluster-error.ts'
import { findResource, neededResource } from '../cluster/why/named-resource.ts'
import { builtInMonitors } from './built-in.ts'
import type { Monitor } from './monitor.ts'
import { celRule } from './rules/cel-rule.ts'

/** An expression that must hold for every state of the objects of a kind. Its variables: `object`, `oldObject` (null at first), `now`. */
export interface CelMonitor {
  /** In reports. Default: the kind and a number. */
  readonly name?: string | undefined
  /** Any name of the kind: `pods`, `deploy`, `widgets.example.com`. */
  readonly kind: string
  readonly expression: string
}

export type ChosenMonitor = string | CelMonitor

/** Throws a ClusterError of kind `usage` for an unknown name. */
function builtIn(name: string): Monitor {
  const found = builtInMonitors.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = builtInMonitors.map((one) => one.name)
  const nearest = nearestName(name, names)
  throw new ClusterError('usage', `there is no monitor "${name}"`, {
    hint: nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${nearest}?`,
  })
}

function ofExpression(
  { name, kind, expression }: CelMonitor,
  from: { readonly number: number; readonly resources: ServerResources; readonly mayCome: boolean },
): Monitor {
  const known = findResource(from.resources, kind)
  const isOwn = kindTest(
    from.mayCome && known === undefined ? kind : neededResource(from.resources, kind),
  )
  try {
    celRule(expression)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    const [first = '', ...more] = messageOf(error).split('\n')
    throw new ClusterError('usage', `the expression for ${kind} is invalid: ${first}`, {
      hint: 'its variables are object, oldObject and now, and it is true or false',
      details: more,
      cause: error,
    })
  }
  return {
    name: name ?? `${known?.plural ?? kind}-${from.number}`,
    summary: expression,
    watches: isOwn,
    journal: 'unused',
    start: () => {
      const rule = celRule(expression)
      // It sees its own kind alone: other monitors may need more.
      return { take: (change) => (isOwn(change.resource) ? rule.take(change) : []) }
    },
  }
}

type Named = Pick<Resource, 'group' | 'version' | 'plural' | 'kind'>

/** Whether a resource is of the kind; of one that is not served yet, by its name: `widgets`, `Widget.example.com`. */
function kindTest(wanted: Resource | string): (resource: Named) => boolean {
  if (typeof wanted !== 'string')
    return ({ group, plural }) => group === wanted.group && plural === wanted.plural
  const [name = '', ...rest] = wanted.toLowerCase().split('.')
  const suffix = rest.join('.')
  return ({ group, version, plural, kind }) =>
    [plural, kind.toLowerCase()].includes(name) &&
    ['', group, `${version}.${group}`].includes(suffix)
}

interface Kinds {
  /** The kind of an expression may be served later. */
  readonly mayCome?: boolean
}

const noKinds: ServerResources = { all: [], preferred: [], failed: [] }

/** All built-in monitors when nothing is chosen. Rejects with a ClusterError of kind `usage` for what is no monitor. */
export async function chooseMonitors(
  chosen: readonly ChosenMonitor[],
  client: Client,
  kinds: Kinds = {},
): Promise<readonly Monitor[]> {
  const hasExpressions = chosen.some((one) => typeof one !== 'string')
  return monitorsOf(chosen, hasExpressions ? await createDiscovery(client)() : noKinds, kinds)
}

/** The same for kinds that are known without a server. Throws a ClusterError of kind `usage` for what is no monitor. */
export function monitorsOf(
  chosen: readonly ChosenMonitor[],
  resources: ServerResources,
  { mayCome = false }: Kinds = {},
): readonly Monitor[] {
  if (chosen.length === 0) return builtInMonitors
  return chosen.map((one, at) => {
    if (typeof one === 'string') return builtIn(one)
    return ofExpression(one, { number: at + 1, resources, mayCome })
  })
}

/** `KIND=EXPRESSION`. Throws a ClusterError of kind `usage` for another form. */
export function celMonitorOf(text: string): CelMonitor {
  const [, kind, expression] = /^\s*([\w.-]+)\s*=(?!=)([^]+)$/.exec(text) ?? []
  if (kind !== undefined && expression !== undefined) return { kind, expression: expression.trim() }
  throw new ClusterError('usage', `--cel ${JSON.stringify(text)} is not KIND=EXPRESSION`, {
    hint: "for example: --cel 'pods=object.spec.containers.size() < 3'",
  })
}
