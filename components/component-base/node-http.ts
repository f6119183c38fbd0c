/**
 * Node's HTTP/1.1 module. To import it as an ES module looks at all that it exports, and one of these loads a WebSocket client:
 * 13 MB and some 30 ms in every process.
 */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
