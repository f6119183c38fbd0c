/** Roles of controllers behind feature gates: a server makes those whose gates are all on. */
import type { FeatureGateName } from '../feature-gates.ts'

export interface GatedRole {
  /** As in `system:controller:<name>`. */
  readonly name: string
  readonly gates: readonly FeatureGateName[]
  readonly rules: readonly string[]
}

export const gatedControllerRoles: readonly GatedRole[] = []
