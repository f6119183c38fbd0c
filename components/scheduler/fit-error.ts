/** FitError: why no node took a pod, and the one sentence about it that users read (upstream: framework.FitError). */
import type { Rejection } from './plugin.ts'

/** The findings about the nodes of one attempt. */
export interface Diagnosis {
  readonly nodeCount: number
  /** How many nodes gave each reason; a node may give several. */
  readonly reasons: Map<string, number>
  /** The plugins that rejected a node: only changes that concern them are worth a new attempt. */
  readonly rejectedBy: Set<string>
  /** Nodes that would pass if pods were removed from them. */
  readonly resolvable: string[]
  /** Why a plugin rejected the pod before it looked at any node. */
  preFilterMessage?: string
}

/** A diagnosis of nothing yet. */
export function newDiagnosis(nodeCount: number): Diagnosis {
  return { nodeCount, reasons: new Map(), rejectedBy: new Set(), resolvable: [] }
}

/** Adds the verdict of one plugin about `count` nodes; `nodeName` is for a verdict about a single one. */
export function addRejection(
  diagnosis: Diagnosis,
  found: { plugin: string; rejection: Rejection; count?: number; nodeName?: string },
): void {
  const { plugin, rejection, count = 1, nodeName } = found
  if (plugin !== '') diagnosis.rejectedBy.add(plugin)
  for (const reason of rejection.reasons) {
    diagnosis.reasons.set(reason, (diagnosis.reasons.get(reason) ?? 0) + count)
  }
  if (rejection.resolvable && nodeName !== undefined) diagnosis.resolvable.push(nodeName)
}

/** What post-filters that found no way say together; undefined when none had anything to say. */
export function joinedFailure(
  failures: readonly { readonly message: string; readonly keepsNomination: boolean }[],
): { readonly ok: false; readonly message: string; readonly keepsNomination: boolean } | undefined {
  if (failures.length === 0) return undefined
  const message = failures.map((failure) => failure.message).join(', ')
  return { ok: false, message, keepsNomination: failures.every((one) => one.keepsNomination) }
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 ...`, ending in a full stop. */
export function nodesAvailable(nodeCount: number, reasons: ReadonlyMap<string, number>): string {
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted()
  const list = parts.length === 0 ? '' : ` ${parts.join(', ')}.`
  return `0/${nodeCount} nodes are available:${list}`
}

/** The message of the PodScheduled condition and of the FailedScheduling event; `postFilter` says why preemption did not help. */
export function fitMessage(diagnosis: Diagnosis, postFilter?: string): string {
  const { nodeCount, preFilterMessage, reasons } = diagnosis
  if (nodeCount === 0) return 'no nodes available to schedule pods'
  const own =
    preFilterMessage === undefined
      ? nodesAvailable(nodeCount, reasons)
      : `0/${nodeCount} nodes are available: ${preFilterMessage}.`
  return postFilter === undefined ? own : `${own} ${postFilter}`
}
