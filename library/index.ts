/** What `import ... from 'kube-skiff'` gives. */
export { ConnectionError } from '../components/client/connection-error.ts'
export { StatusError } from '../components/machinery/objects/status-error.ts'
export { UnknownKindError } from '../scenarios/engine/unknown-kind-error.ts'
export { ExpectationError } from './expectation-error.ts'
export { ManifestError } from './manifest-error.ts'
export { OptionError } from './option-error.ts'
export { startCluster } from './start-cluster.ts'
export type * from './types.ts'
