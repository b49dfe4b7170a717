// What the charts need of a browser, where there is none: elements that become XML, and the campaign,
// which is set by the program.

class Drawn {
  constructor(name) {
    this.name = name;
    this.attributes = new Map();
    this.childNodes = [];
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }

  getAttribute(name) {
    return this.attributes.get(name);
  }

  append(...children) {
    this.childNodes.push(...children);
  }

  toString() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${escapeXml(value)}"`);
    const content = this.childNodes.map((child) => (child instanceof Drawn ? child : escapeXml(child)));
    return `<${this.name}${attributes.join("")}>${content.join("")}</${this.name}>`;
  }
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeXml = (text) => String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign]);

const innerWidth = 1280;
const document = {
  createElementNS: (_, name) => new Drawn(name),
  getElementById: () => ({ textContent: campaign }),
};

// Pictures show everything, with the marks of the analysis.
const markOf = () => undefined;
