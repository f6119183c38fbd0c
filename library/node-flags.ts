/** A node's options as flags of its agent, without dashes, and back. */
import type { NodeConfig } from '../cluster/plan/cluster-config.ts'
import type { NodeOptions } from './types.ts'

function pairs(of: Readonly<Record<string, string>>): string {
  return Object.entries(of)
    .map(([key, value]) => `${key}=${value}`)
    .join()
}

function pairsOf(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined
  return Object.fromEntries(text.split(',').map((pair) => pair.split('=', 2)))
}

/** The options of a saved node. One process of many simulated nodes becomes the one node of its name. */
export function optionsOf({ name, flags = {} }: NodeConfig): NodeOptions {
  return {
    name,
    labels: pairsOf(flags['node-labels']),
    taints: flags['register-with-taints']?.split(','),
    capacity: pairsOf(flags['capacity']),
  }
}

export function nodeFlags({ labels = {}, taints = [], capacity = {} }: NodeOptions) {
  const flags = {
    'node-labels': pairs(labels),
    'register-with-taints': taints.join(),
    capacity: pairs(capacity),
  }
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== ''))
}
