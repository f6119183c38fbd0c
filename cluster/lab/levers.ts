/** Levers: how one form of a cluster makes a fault hold. The board decides which faults there are; levers know nothing of names' order or ends. */
import type { FaultSpec } from './fault-spec.ts'

/** A fault with the name by which it is counted and healed. */
export type NamedFault = FaultSpec & { readonly name: string }

/** A fault that holds. */
export interface HeldFault {
  /** How often it has fired so far. It never gets less. */
  fired(): Promise<number>
  /** Resolves when it holds no more; `fired` still answers. */
  end(): Promise<void>
}

export interface Levers {
  /**
   * Resolves when the fault holds. Rejects with a ClusterError for what this cluster does not have or this form cannot do; then nothing has
   * changed.
   */
  hold(fault: NamedFault): Promise<HeldFault>
}
