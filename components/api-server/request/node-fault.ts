/** NodeFault: an error that a node's agent causes, not this server; so it is not logged as a bug. */
import { StatusError } from '../../machinery/objects/status-error.ts'

export class NodeFault extends StatusError {}
