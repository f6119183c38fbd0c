/** TablePrinter: how the objects of a kind show in a Table (upstream: metav1.TableColumnDefinition). */
import type { KubeObject } from './object.ts'

export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** 'name' marks the column that identifies the row. */
  readonly format: string
  readonly description: string
  /** 0 always shows; above only with -o wide. */
  readonly priority: number
}

export type Cell = string | number | boolean | null

export interface TablePrinter {
  readonly columns: readonly Column[]
  /** One value per column, in order; `nowMs` is for ages. Objects may lack any field. */
  cells(object: KubeObject, nowMs: number): Cell[]
}
