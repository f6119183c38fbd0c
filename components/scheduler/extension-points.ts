/** Extension points as configuration names them, and which of them a plugin takes part in (upstream: framework.Plugin interfaces). */
import type { Plugin } from './plugin.ts'

/** Permit and PostBind can be configured, though no plugin here takes part in them. */
export const extensionPoints = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const

export type ExtensionPoint = (typeof extensionPoints)[number]

/** What a plugin must have to take part. */
const methods: Readonly<Record<ExtensionPoint, keyof Plugin | undefined>> = {
  preEnqueue: 'preEnqueue',
  queueSort: 'compare',
  preFilter: 'filter',
  filter: 'filter',
  postFilter: 'postFilter',
  preScore: 'score',
  score: 'score',
  reserve: 'reserve',
  permit: undefined,
  preBind: 'reserve',
  bind: 'bind',
  postBind: undefined,
}

export function takesPartIn(plugin: Plugin, point: ExtensionPoint): boolean {
  const method = methods[point]
  return method !== undefined && plugin[method] !== undefined
}
