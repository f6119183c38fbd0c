/** Stages (kwok.x-k8s.io/v1alpha1) as data: `next` is turned into steps, and each place that can fail names its file and line. */

/** A text of a file. */
export interface Located {
  readonly text: string
  readonly file: string
  /** Of its first line. */
  readonly line: number
}

/** An expression for a value: jq or CEL. */
export interface Expression extends Located {
  readonly language: 'jq' | 'cel'
}

export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'

export type Requirement =
  | { readonly jq: Located; readonly operator: Operator; readonly values: readonly string[] }
  | { readonly cel: Located }

export type StagePatchType = 'json' | 'merge' | 'strategic' | 'apply'

export type StageStep =
  | {
      readonly kind: 'event'
      readonly type: 'Normal' | 'Warning'
      readonly reason: string
      readonly message: string
    }
  | {
      readonly kind: 'finalizers'
      readonly add: readonly string[]
      readonly remove: readonly string[]
      readonly empty: boolean
    }
  | { readonly kind: 'delete' }
  | {
      readonly kind: 'patch'
      readonly subresource: string | undefined
      /** The field that holds what the template makes; undefined: the object. */
      readonly root: string | undefined
      readonly type: 'json' | 'merge' | 'strategic'
      readonly template: Located
      readonly user: string | undefined
    }
  | {
      readonly kind: 'apply'
      readonly subresource: string | undefined
      readonly type: 'apply' | 'merge' | 'strategic'
      readonly template: Located
      /** What the template makes. */
      readonly target: KindRef
      readonly user: string | undefined
    }

export interface KindRef {
  readonly apiVersion: string
  readonly kind: string
}

export interface StageDelay {
  readonly durationMs: number
  readonly durationFrom: Expression | undefined
  readonly jitterMs: number | undefined
  readonly jitterFrom: Expression | undefined
}

export interface Stage {
  readonly name: string
  /** `FILE:LINE` */
  readonly place: string
  readonly resource: KindRef
  readonly matchLabels: Readonly<Record<string, string>>
  readonly matchAnnotations: Readonly<Record<string, string>>
  readonly requirements: readonly Requirement[]
  readonly weight: number
  readonly weightFrom: Expression | undefined
  readonly delay: StageDelay | undefined
  readonly steps: readonly StageStep[]
  /** The next stage is looked for at once, in the answer to the last patch. */
  readonly immediateNextStage: boolean
}

/** The annotation that gives a node, and the pods on it, to the stages. */
export const fakeNode = { annotation: 'kwok.x-k8s.io/node', value: 'fake' } as const

export function sameKind(one: KindRef, other: KindRef): boolean {
  return one.apiVersion === other.apiVersion && one.kind === other.kind
}
