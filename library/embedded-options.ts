/** The options of a cluster as the thread that hosts it takes them. */
import { resolve } from 'node:path'
import type { Stage } from '../components/stage-runner/stage.ts'
import type { EmbeddedClusterOptions, EmbeddedNode } from '../embedded/embedded-options.ts'
import { nodeFlags } from './node-flags.ts'
import type { NodeOptions, StartClusterOptions } from './types.ts'

export function embeddedNode(node: NodeOptions): EmbeddedNode {
  return { name: node.name, flags: nodeFlags(node) }
}

/** Options that are equal to the user make equal ones: a cluster may have been prepared for them. */
export function embeddedOptions(
  options: StartClusterOptions & {
    readonly nodes: readonly NodeOptions[]
    readonly folder?: string
    /** Of the files in `stages`. */
    readonly stageList?: readonly Stage[] | undefined
  },
): EmbeddedClusterOptions {
  const { nodes, components = ['controller-manager', 'scheduler'], flags = {}, port = 0 } = options
  return {
    nodes: nodes.map(embeddedNode),
    components,
    extraFlags: flags,
    port,
    seed: options.seed ?? 1,
    startAtMs: options.startAt?.getTime(),
    ...(options.stageList === undefined ? {} : { stages: options.stageList }),
    initialState: options.from === undefined ? undefined : resolve(options.from),
    ...(options.folder === undefined ? {} : { folder: options.folder, restarts: true }),
  }
}

/** `node-1` and so on. */
export function namedNodes(count: number): readonly NodeOptions[] {
  return Array.from({ length: count }, (_, index): NodeOptions => ({ name: `node-${index + 1}` }))
}
