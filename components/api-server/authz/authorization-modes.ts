/** `--authorization-mode`: the modes, and the authorizers of those that need no file. */
import { nodeRules } from '../../api/bootstrap-policy/policy-objects.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { alwaysAllow, alwaysDeny } from './always.ts'
import type { Authorizer } from './authorizer.ts'
import { nodeAuthorizer } from './node-authorizer.ts'
import { NodeGraph } from './node-graph.ts'
import { RbacIndex } from './rbac-index.ts'
import { rbacAuthorizer } from './rbac.ts'

export const authorizationModes = [
  'Node',
  'RBAC',
  'ABAC',
  'Webhook',
  'AlwaysAllow',
  'AlwaysDeny',
] as const

export type AuthorizationMode = (typeof authorizationModes)[number]

/** Reads `Node,RBAC`. Throws an Error that names the wrong mode and lists the known ones. */
export function parseAuthorizationModes(text: string): AuthorizationMode[] {
  const names = text.split(',').map((name) => name.trim())
  const modes = names.map((name) => {
    const known = authorizationModes.find((mode) => mode === name)
    if (known === undefined) {
      throw new Error(
        `authorization-mode "${name}" is not a valid mode; known are ${authorizationModes.join(', ')}`,
      )
    }
    return known
  })
  const repeated = modes.find((mode, index) => modes.indexOf(mode) !== index)
  if (repeated !== undefined) {
    throw new Error(`authorization-mode "${repeated}" is specified more than once`)
  }
  return modes
}

/** Modules that need no file: all but ABAC and Webhook. */
export type LocalMode = Exclude<AuthorizationMode, 'ABAC' | 'Webhook'>

export interface LocalModules {
  /** The module of a mode; modules of one mode share their state. */
  of(mode: LocalMode): Authorizer
  /** Built for every mode, since escalation checks need it. */
  readonly rbacIndex: RbacIndex
  stop(): void
}

/** They follow the reader until `stop`. */
export function createLocalModules(options: {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly authorizeNodeWithSelectors?: boolean
}): LocalModules {
  const { reader, dialect, authorizeNodeWithSelectors = true } = options
  const rbacIndex = new RbacIndex(reader, dialect)
  let graph: NodeGraph | undefined
  return {
    rbacIndex,
    of(mode) {
      switch (mode) {
        case 'RBAC':
          return rbacAuthorizer(rbacIndex)
        case 'AlwaysAllow':
          return alwaysAllow
        case 'AlwaysDeny':
          return alwaysDeny
        case 'Node':
          graph ??= new NodeGraph(reader, dialect)
          return nodeAuthorizer({
            graph,
            reader,
            dialect,
            rules: nodeRules(dialect),
            withSelectors: authorizeNodeWithSelectors,
          })
      }
    },
    stop() {
      rbacIndex.stop()
      graph?.stop()
    },
  }
}
