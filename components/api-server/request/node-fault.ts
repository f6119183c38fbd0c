/** NodeFault: an error that a node's agent causes, so that it is not logged as a bug of this server. */
import { StatusError } from '../../machinery/objects/status-error.ts'

export class NodeFault extends StatusError {}
